/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options are rows of tables. Parsing, --help, the man page and the shells' completions all read
 * the same row of an option, so they can't disagree.
 */
#ifndef CLI_OPTIONS_OPTIONS_H
#define CLI_OPTIONS_OPTIONS_H

#include <stdio.h>
#include "base/util.h"

/*
 * Stores an option's value in @field. @value is NULL if the option takes no value. 0, or -EINVAL +
 * a message that shows a right value (values.h).
 */
typedef int (*option_set_fn)(void *field, const char *value);

/* Whether configuration files (cli/config) may set an option, and when a new value takes effect. */
enum option_in_file {
	/*
	 * a file may set the option; a running program keeps its old value until it is started
	 * again
	 */
	OPTION_RESTART,
	OPTION_LIVE,  /* a file may set the option; a running program adopts a new value */
	OPTION_TYPED, /* only the command line may set the option */
};

struct option_row {
	/*
	 * heading above the option in --help; NULL: the option belongs to the group of the row
	 * before it
	 */
	const char *group;
	/* long name of the option, without its dashes; NULL: this row ends the table */
	const char *name;
	char letter; /* the option's letter, as in -p; 0: it has none */
	/* name of the option's value, such as "PID"; NULL: the option takes no value */
	const char *arg;
	/*
	 * what the option does, in a few lines; the text begins in lower case, without a full stop
	 * at its end
	 */
	const char *help;
	const char *initial; /* the option's default, in words; NULL: the help shows none */
	/*
	 * words that shells offer as the option's value, separated by spaces; or one of
	 * COMPLETE_...
	 */
	const char *complete;
	option_set_fn set; /* stores the option's value; NULL: this is the row of --help */
	size_t field;	   /* where the option's field is in the command's options, as an offset */
	enum option_in_file in_file;
};

#define COMPLETE_FILE	 "<file>"
#define COMPLETE_PROCESS "<pid>"

#define OPTION_HELP                                                                                \
	{                                                                                          \
		.name = "help", .letter = 'h', .help = "print this and exit"                       \
	}

/* An option of other tools that this command doesn't have, and why. */
struct option_refusal {
	const char *name, *why;
};

struct command {
	const char *name;
	const char *summary; /* what the command does, for its line in `krait --help` */
	/* forms of the command line, without "krait"; NULL-terminated */
	const char *const *synopsis;
	/* examples in the form "command\tmeaning"; NULL-terminated; NULL: there are none */
	const char *const *examples;
	const struct option_row *rows; /* the command's options; the last row has no name */
	/* subcommands, named by the next word; NULL-terminated; NULL: there are none */
	const struct command *const *commands;
	/*
	 * options of other tools, refused with advice; the last entry has no name; NULL: there are
	 * none
	 */
	const struct option_refusal *refused;
	/* name of the command's operand, such as "COMMAND"; NULL: it takes no operand */
	const char *operand;
	/* how many operands the command takes at most; 0: one if .operand is set, else none */
	unsigned max_operands;
	bool operand_is_file; /* the operand is a file, so shells complete file names */
	bool takes_command;   /* "--" and a program to run, with its arguments, may follow */
	bool reads_files;     /* the command only reads files, so krait gives up the other rights */
	bool hidden;	      /* --help and completions don't show the command */
	/*
	 * the options imitate those of another tool, so messages don't refer to krait's own --help
	 */
	bool borrowed;
	/*
	 * Parses the command line after the command's name, and runs the command. Returns the exit
	 * code.
	 */
	int (*run)(const struct command *self, int argc, char **argv);
};

/* Returns the last word of a command's name: "run" for the command "agent run". */
static inline const char *command_word(const struct command *c)
{
	return strrchr(c->name, ' ') + 1;
}

/*
 * All commands; NULL-terminated. A command line without a command has the options of the first
 * command in this list.
 */
extern const struct command *const commands[];
/* Returns the command called @name; NULL: there is no such command. */
const struct command *command_by_name(const char *name);

/* The words of a command line that aren't options or their values. */
struct operands {
	const char *operand; /* the first operand; NULL: there is none */
	char **words;	     /* the operands: argv[0..n), to which parsing moved them */
	unsigned n;
	char **cmd; /* the words after "--"; NULL-terminated; NULL: there is no "--" */
};

#define OPTIONS_HELP_ASKED 1

/*
 * Parses argv[0..argc-1], which doesn't have the command's own name, into @fields. Understands
 * --name value, --name=value, -n value, -nvalue, and several letters in a word. Returns 0;
 * OPTIONS_HELP_ASKED; or -EINVAL + message.
 */
_must_use_ int options_parse(const struct command *c, int argc, char **argv, void *fields,
			     struct operands *ret);

/*
 * Parses as options_parse() does, but passes each option to @met instead of storing its value.
 * @value is a word of argv, or a part of a word. @met returns 0 or -errno + message, which ends the
 * parsing.
 */
typedef int (*option_met_fn)(void *ctx, const struct option_row *row, const char *value);
_must_use_ int options_each(const struct command *c, int argc, char **argv, option_met_fn met,
			    void *ctx, struct operands *ret);

/* Stores the value of an option in the option's field in @fields. 0, or -errno + message. */
_must_use_ int option_store(const struct option_row *row, void *fields, const char *value);

/*
 * Returns how many words at the beginning of argv[0..argc) are options and their values.
 */
int options_leading(const struct command *c, int argc, char **argv);

/*
 * For the run() of a command: calls options_parse(), and prints the help or the error message.
 * Returns -1 if the command is to go on, else the exit code.
 */
_must_use_ int options_read(const struct command *c, int argc, char **argv, void *fields,
			    struct operands *ret);

struct str;

/*
 * Appends a command line that runs and profiles a program: "krait record -d 3 -- python3 app.py". A
 * long one is cut. @n_words must be more than 0.
 */
void options_add_command(struct str *b, const char *name, char **options, int n_options,
			 char **words, int n_words);

/*
 * Returns what must stand before @word on a command line so that it can be run: an interpreter if
 * @word is a script, else "".
 */
static inline const char *options_interpreter(const char *word)
{
	return str_ends(word, ".py") ? "python3 " : "";
}

/*
 * Returns the word of @words (NULL-terminated) that the user most likely meant by @typed; NULL:
 * none is similar.
 */
const char *options_similar(const char *typed, const char *const *words);

#endif
