/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options are tables. Parsing, --help, the man page and the shells' completions all use the one row
 * of an option, so that they can't disagree.
 */
#ifndef CLI_OPTIONS_OPTIONS_H
#define CLI_OPTIONS_OPTIONS_H

#include <stdio.h>
#include "base/util.h"

/*
 * Stores an option's value in its field. @value is NULL for an option without argument. 0, or
 * -EINVAL + a message that shows a right value (values.h).
 */
typedef int (*option_set_fn)(void *field, const char *value);

struct option_row {
	const char *group; /* heading in --help; NULL: that of the row before */
	const char *name;  /* without the dashes; NULL ends the table */
	char letter;	   /* short form, or 0 */
	const char *arg;   /* name of the value: "PID"; NULL: the option takes none */
	/* what it does, in a few lines; begins in lower case, has no full stop at the end */
	const char *help;
	const char *initial;  /* the default in words, or NULL */
	const char *complete; /* what shells offer: words separated by spaces, or COMPLETE_* */
	option_set_fn set;    /* stores the value; NULL: the row is that of --help */
	size_t field;	      /* offset of the field in the command's options */
};

#define COMPLETE_FILE	 "<file>"
#define COMPLETE_PROCESS "<pid>"

#define OPTION_HELP                                                                                \
	{                                                                                          \
		.name = "help", .letter = 'h', .help = "print this and exit"                       \
	}

/* An option of other commands that makes no sense for this one, and the reason. */
struct option_refusal {
	const char *name, *why;
};

struct command {
	const char *name;
	const char *summary;		      /* one line in `krait --help` */
	const char *const *synopsis;	      /* what can be typed after "krait"; NULL-terminated */
	const char *const *examples;	      /* "command\tmeaning"; NULL-terminated; NULL: none */
	const struct option_row *rows;	      /* the last row has no name */
	const struct option_refusal *refused; /* the last one has no name; NULL: none */
	/* name of the operand ("COMMAND"), or NULL if it takes none */
	const char *operand;
	unsigned max_operands; /* the most operands; 0: one, if .operand is set */
	bool operand_is_file;  /* shells complete file names */
	bool takes_command;    /* a command line may follow "--" */
	bool reads_files;      /* needs no rights except to files */
	bool hidden;	       /* left out of --help and completions */
	bool borrowed;	       /* has another tool's options, so messages don't refer to it */
	/* Parses the rest of the command line and executes it; returns the exit code. */
	int (*run)(const struct command *self, int argc, char **argv);
};

/* All commands; NULL-terminated. Options without a command are the first one's. */
extern const struct command *const commands[];
const struct command *command_by_name(const char *name); /* NULL if there is none */

/* The words of a command line that aren't options. */
struct operands {
	const char *operand; /* the first operand, or NULL */
	char **words;	     /* all operands: argv[0..n), to whose beginning they were moved */
	unsigned n;
	char **cmd; /* what follows "--", NULL-terminated, or NULL */
};

#define OPTIONS_HELP_ASKED 1

/*
 * Parses argv[0..argc-1] (without the command's own name) into @fields. Understands --name value,
 * --name=value, -n value, -nvalue and bundled letters. 0; OPTIONS_HELP_ASKED; -EINVAL + message.
 */
_must_use_ int options_parse(const struct command *c, int argc, char **argv, void *fields,
			     struct operands *ret);

/*
 * The number of words in argv[0..argc) that are options and their values, up to the first other
 * word.
 */
int options_leading(const struct command *c, int argc, char **argv);

/*
 * options_parse() for a command's run(). Prints the help, or the error message. Returns -1 to go
 * on, else the exit code.
 */
_must_use_ int options_read(const struct command *c, int argc, char **argv, void *fields,
			    struct operands *ret);

struct str;

/*
 * Appends the command line that runs and profiles a program, "krait record -d 3 -- python3 app.py";
 * a long one is cut. @n_words > 0.
 */
void options_add_command(struct str *b, const char *name, char **options, int n_options,
			 char **words, int n_words);

/* What must precede @word in the command that runs it: a script needs its interpreter. */
static inline const char *options_interpreter(const char *word)
{
	return str_ends(word, ".py") ? "python3 " : "";
}

/* The word of @words (NULL-terminated) that @typed most likely means, or NULL. */
const char *options_similar(const char *typed, const char *const *words);

#endif
