/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options are rows of tables. Parsing, --help, the man page and the shells' completions all use an
 * option's row, so that they can't disagree.
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

/* What a configuration file (cli/config) may do with an option. */
enum option_in_file {
	/* a file may set the option; a running program keeps the value with which it began */
	OPTION_RESTART,
	OPTION_LIVE,  /* a file may set the option; a running program takes over a new value */
	OPTION_TYPED, /* only the command line may set the option */
};

struct option_row {
	/* heading above the option in --help; NULL: the option is in the group of the row before */
	const char *group;
	const char *name; /* long name of the option, without the dashes; NULL ends the table */
	char letter;	  /* letter of the option's short form; 0: none */
	/* name of the option's value, such as "PID"; NULL: the option has no value */
	const char *arg;
	/*
	 * what the option does, in a few lines; begins in lower case, has no full stop at the end
	 */
	const char *help;
	const char *initial; /* default of the option in words; NULL: none */
	/* words that a shell offers as the value, separated by spaces, or COMPLETE_... */
	const char *complete;
	option_set_fn set; /* function that stores the value; NULL: the row is that of --help */
	size_t field;	   /* offset of the option's field in the command's options */
	enum option_in_file in_file;
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
	const char *summary;	     /* what the command does, in one line of `krait --help` */
	const char *const *synopsis; /* what can be typed after "krait"; NULL-terminated */
	/* examples, each "command\tmeaning"; NULL-terminated; NULL: none */
	const char *const *examples;
	const struct option_row *rows; /* the options; the last row has no name */
	/* commands that a second word names; NULL-terminated; NULL: there are none */
	const struct command *const *commands;
	/*
	 * options of other tools that this command refuses with advice; the last one has no name;
	 * NULL: none
	 */
	const struct option_refusal *refused;
	/* name of the command's operand ("COMMAND"); NULL: it takes none */
	const char *operand;
	/* the most operands that the command takes; 0: one if .operand is set, else none */
	unsigned max_operands;
	bool operand_is_file; /* the operand is a file, so that shells complete names of files */
	bool takes_command;   /* the words of a program to run may follow "--" */
	bool reads_files;     /* the command only reads files, so it needs no other rights */
	bool hidden;	      /* the command is left out of --help and completions */
	/* the options imitate those of another tool, so messages don't refer to --help */
	bool borrowed;
	/* Parses the rest of the command line and executes it; returns the exit code. */
	int (*run)(const struct command *self, int argc, char **argv);
};

/* Returns the last word of a command's name: "run" for the command "agent run". */
static inline const char *command_word(const struct command *c)
{
	return strrchr(c->name, ' ') + 1;
}

/*
 * All commands; NULL-terminated. If a command line names no command, its options are those of the
 * first one.
 */
extern const struct command *const commands[];
/* Returns the command called @name; NULL: there is none. */
const struct command *command_by_name(const char *name);

/* The words of a command line that aren't options or their values. */
struct operands {
	const char *operand; /* the first operand; NULL: there is none */
	char **words; /* the operands: argv[0..n), as parsing moved them to the beginning of argv */
	unsigned n;
	char **cmd; /* the words after "--", NULL-terminated; NULL: there is no "--" */
};

#define OPTIONS_HELP_ASKED 1

/*
 * Parses argv[0..argc-1] (without the command's own name) into @fields. Understands --name value,
 * --name=value, -n value, -nvalue and bundled letters. 0; OPTIONS_HELP_ASKED; -EINVAL + message.
 */
_must_use_ int options_parse(const struct command *c, int argc, char **argv, void *fields,
			     struct operands *ret);

/*
 * As options_parse(), but hands each option to @met instead of storing it. @value is a word of
 * argv, or a part of one. @met returns 0 or -errno + message, which ends the parsing.
 */
typedef int (*option_met_fn)(void *ctx, const struct option_row *row, const char *value);
_must_use_ int options_each(const struct command *c, int argc, char **argv, option_met_fn met,
			    void *ctx, struct operands *ret);

/* Stores an option's value in its field in @fields. 0, or -errno + message. */
_must_use_ int option_store(const struct option_row *row, void *fields, const char *value);

/*
 * Returns how many words at the beginning of argv[0..argc) are options and their values.
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
 * Appends the command line that runs and profiles a program: "krait record -d 3 -- python3 app.py".
 * A long command line is cut. @n_words > 0.
 */
void options_add_command(struct str *b, const char *name, char **options, int n_options,
			 char **words, int n_words);

/* Returns what a command line needs before @word: an interpreter if @word is a script, else "". */
static inline const char *options_interpreter(const char *word)
{
	return str_ends(word, ".py") ? "python3 " : "";
}

/* Returns the word of @words (NULL-terminated) that @typed most likely means, or NULL. */
const char *options_similar(const char *typed, const char *const *words);

#endif
