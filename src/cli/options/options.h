/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options are tables: parsing, --help, the man page and the completions of the shells all expand
 * from one row per option, so that they can't disagree.
 */
#ifndef CLI_OPTIONS_OPTIONS_H
#define CLI_OPTIONS_OPTIONS_H

#include <stdio.h>
#include "base/util.h"

/*
 * Takes an option's value into its field. @value is NULL for an option without an argument.
 * 0, or -EINVAL + a message that says what a right value looks like (values.h).
 */
typedef int (*option_set_fn)(void *field, const char *value);

struct option_row {
	const char *group; /* heading in --help; NULL = that of the row before */
	const char *name;  /* without the dashes; NULL ends the table */
	char letter;	   /* short form, or 0 */
	const char *arg;   /* what the value is called: "PID"; NULL = takes no value */
	const char *help;  /* what it does, a line or a few; lower case, no full stop at the end */
	const char *initial;  /* the default in words, or NULL */
	const char *complete; /* what shells offer: words apart by spaces, or COMPLETE_* */
	option_set_fn set;    /* NULL: --help */
	size_t field;	      /* offset of the field in the command's options */
};

#define COMPLETE_FILE	 "<file>"
#define COMPLETE_PROCESS "<pid>"

#define OPTION_HELP                                                                                \
	{                                                                                          \
		.name = "help", .letter = 'h', .help = "print this and exit"                       \
	}

/* An option of other commands that makes no sense for this one, and why. */
struct option_refusal {
	const char *name, *why;
};

struct command {
	const char *name;
	const char *summary;		      /* one line in `krait --help` */
	const char *const *synopsis;	      /* what can be typed after "krait"; NULL-terminated */
	const char *const *examples;	      /* "command\tmeaning"; NULL-terminated; NULL = none */
	const struct option_row *rows;	      /* ends with a row without a name */
	const struct option_refusal *refused; /* ends with one without a name; NULL = none */
	const char *operand;		      /* name of an operand it takes ("COMMAND"), or NULL */
	unsigned max_operands;		      /* 0 = one, where .operand is set */
	bool operand_is_file;		      /* shells complete file names */
	bool takes_command;		      /* a command line may follow "--" */
	bool reads_files;		      /* needs no rights but those to files */
	bool hidden;			      /* not in --help and completions */
	bool borrowed; /* another tool's words: nobody is sent there for an option */
	/* Parses the rest of the command line and does it; returns the exit code. */
	int (*run)(const struct command *self, int argc, char **argv);
};

/* All commands; ends with NULL. The first is the one a bare option means. */
extern const struct command *const commands[];
const struct command *command_by_name(const char *name); /* NULL if there is none */

/* What isn't an option. */
struct operands {
	const char *operand; /* the first, or NULL */
	char **words;	     /* all of them: argv[0..n), to whose beginning they were moved */
	unsigned n;
	char **cmd; /* what follows "--", NULL-terminated, or NULL */
};

#define OPTIONS_HELP_ASKED 1

/*
 * Reads argv[0..argc-1] (without the command's own name) into @fields. Understands --name value,
 * --name=value, -n value, -nvalue and bundled letters. 0; OPTIONS_HELP_ASKED; -EINVAL + message.
 */
_must_use_ int options_parse(const struct command *c, int argc, char **argv, void *fields,
			     struct operands *ret);

/* How many words of argv[0..argc) are options and their values, up to the first one that is neither. */
int options_leading(const struct command *c, int argc, char **argv);

/*
 * options_parse() for a command's run(): prints the help or the message that it asks for. -1 = go
 * on, else the exit code.
 */
_must_use_ int options_read(const struct command *c, int argc, char **argv, void *fields,
			    struct operands *ret);

struct str;

/* Appends how a program is run and profiled, "krait record -d 3 -- python3 app.py"; a long one is cut. @n_words > 0. */
void options_add_command(struct str *b, const char *name, char **options, int n_options,
			 char **words, int n_words);

/* What stands before @word in the command that runs it: a script needs its interpreter. */
static inline const char *options_interpreter(const char *word)
{
	return str_ends(word, ".py") ? "python3 " : "";
}

/* The word of @words (NULL-terminated) that @typed most likely stands for, or NULL. */
const char *options_similar(const char *typed, const char *const *words);

#endif
