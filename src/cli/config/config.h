/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration files of a command: each line is a long option of the command's table, so a file
 * can say what a command line can, in the same words, and is checked by the same functions.
 *
 *	# every Python process, 99 times a second
 *	frequency 99
 *	wall
 *	comm "my app"
 *
 * A # after a blank, or at the line's beginning, begins a comment. A value may be quoted; then \"
 * and \\ stand for " and \. Between name and value is a blank or =. The file comes first, then the
 * *.conf of the directory FILE.d in the order of their names, then the command line. Of an option
 * that has one value the last one counts. An option that may be repeated gets all of them.
 */
#ifndef CLI_CONFIG_CONFIG_H
#define CLI_CONFIG_CONFIG_H

#include <stdio.h>
#include "base/util.h"
#include "base/vec.h"
#include "cli/options/options.h"
#include "cli/options/values.h"

#define CONFIG_BYTES  (64u << 10) /* the most bytes that a configuration file may have */
#define CONFIG_FILES  100	  /* the most files that directory FILE.d may have */
#define CONFIG_FAULTS 100	  /* how many faults are kept; further ones are only counted */

/* An option that was set in a file or on the command line. */
struct config_setting {
	const struct option_row *row;
	const char *value; /* value of the option; NULL: the option takes no value */
	/* file in which the option was set; NULL: it was set on the command line */
	const char *file;
	unsigned line;
};

struct config {
	const struct command *command;
	void *fields; /* the struct that the options are stored in; owned by the caller */
	/* all settings, in the order in which they were made */
	VEC(struct config_setting) settings;
	VEC(const char *) files; /* the files that were read */
	/* a sentence for each fault of the configuration */
	VEC(char *) faults;
	/* how many faults were found that have no room in .faults */
	size_t more_faults;
	/* the texts to which the members above point: these vectors own them */
	VEC(char *) texts, argv;
};

/* Sets @fields to the defaults of the command's options. @fields stays the caller's. */
void config_init(struct config *c, const struct command *command, void *fields);
void config_fini(struct config *c); /* also frees the texts to which @fields points */

/*
 * Reads the file @path, the files in the directory @path.d, and the command line, and sets the
 * fields by them. @path may be missing. If the command line has --config FILE, FILE is read instead
 * of @path, and must exist. @argv isn't changed, so it can be read again. *ret points into memory
 * of @c. Returns 0; OPTIONS_HELP_ASKED; -EINVAL if there are faults; -ENOMEM + message.
 */
_must_use_ int config_load(struct config *c, const char *path, int argc, char **argv,
			   struct operands *ret);

/*
 * Reads the lines of a configuration file for config_load(). Returns 0 even if it added faults, or
 * -ENOMEM + message.
 */
_must_use_ int config_read_text(struct config *c, const char *file, const char *text, size_t n);
/*
 * Reads the configuration file @path, and the *.conf files in the directory @path.d. @must: it is a
 * fault if @path is missing. Returns 0 or -ENOMEM + message.
 */
_must_use_ int config_read_files(struct config *c, const char *path, bool must);

/* Adds a fault. */
void config_fault(struct config *c, const char *fmt, ...) _printf_(2, 3);
/*
 * For a command that checks its options: adds the last error message as a fault. If the message
 * names options, such as "--rate", the fault says where they were set. Returns -EINVAL.
 */
int config_blame(struct config *c);

/* Logs all faults. */
void config_say_faults(const struct config *c);

/*
 * Prints the settings in the form of a configuration file. After each setting, a comment says where
 * it was made.
 */
void config_print(const struct config *c, FILE *out);

/*
 * Calls @met for each option that is set differently in @before and @after. @row->in_file says
 * whether a running program can adopt the new value. Both configurations must be of the same
 * command, and without faults.
 */
void config_changes(const struct config *before, const struct config *after,
		    void (*met)(void *ctx, const struct option_row *row), void *ctx);

/* Appends where option @row was set: "/etc/krait/agent.conf:3", "command line" or "default". */
struct str;
void config_origin(const struct config *c, const struct option_row *row, struct str *ret);

/* The row of option --config. @at: offset of a const char *, which gets the option's value. */
#define CONFIG_ROW(at, otherwise)                                                                  \
	{                                                                                          \
		.name = "config", .arg = "FILE", .set = value_string, .field = (at),               \
		.initial = (otherwise), .complete = COMPLETE_FILE, .in_file = OPTION_TYPED,        \
		.help = "read FILE, then the *.conf in the directory FILE.d; each line is a long " \
			"option without its dashes"                                                \
	}

#endif
