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

#define CONFIG_BYTES  (64u << 10) /* the most bytes of a file */
#define CONFIG_FILES  100	  /* the most files in FILE.d */
#define CONFIG_FAULTS 100	  /* the most faults that are kept; further ones are only counted */

/* An option that a file or the command line has set. */
struct config_setting {
	const struct option_row *row;
	const char *value; /* value of the option; NULL: the option takes none */
	const char *file;  /* file with the setting; NULL: the command line has it */
	unsigned line;
};

struct config {
	const struct command *command;
	void *fields; /* the command's options, owned by the caller */
	/* all settings, in the order in which they were made */
	VEC(struct config_setting) settings;
	VEC(const char *) files; /* the files that were read */
	/* what is wrong with the configuration, one sentence for each fault */
	VEC(char *) faults;
	/* how many faults were found in addition to the CONFIG_FAULTS in .faults */
	size_t more_faults;
	VEC(char *) texts, argv; /* memory of the texts to which the members above point */
};

/* @fields are set to the command's defaults, and stay the caller's. */
void config_init(struct config *c, const struct command *command, void *fields);
void config_fini(struct config *c); /* also frees texts that @fields points to */

/*
 * Reads the file @path, the directory of its parts (@path with ".d") and the command line into the
 * fields. @path may be missing. If the command line has --config FILE, that file is read instead,
 * and must exist. @argv isn't changed, so it can be read again. *ret points into memory of @c.
 * Returns 0; OPTIONS_HELP_ASKED; -EINVAL if there are faults; -ENOMEM + message.
 */
_must_use_ int config_load(struct config *c, const char *path, int argc, char **argv,
			   struct operands *ret);

/*
 * Reads the lines of a file, as config_load() does. Returns 0 even if it added faults, or -ENOMEM +
 * message.
 */
_must_use_ int config_read_text(struct config *c, const char *file, const char *text, size_t n);
/*
 * Reads the configuration file @path, and the *.conf files in the directory @path.d. @must: the
 * file @path must exist. Returns 0 or -ENOMEM + message.
 */
_must_use_ int config_read_files(struct config *c, const char *path, bool must);

/* Adds a fault. */
void config_fault(struct config *c, const char *fmt, ...) _printf_(2, 3);
/*
 * For a command that checks its options: adds the last error message as a fault. The fault says
 * where the options that the message names ("--rate") were set. Returns -EINVAL.
 */
int config_blame(struct config *c);

/* Logs all faults. */
void config_say_faults(const struct config *c);

/*
 * Prints the settings in the form of a configuration file. A comment behind each setting says where
 * it comes from.
 */
void config_print(const struct config *c, FILE *out);

/*
 * Calls @met for each option whose setting in @after differs from that in @before. @row->in_file
 * says whether a running program can take over the new setting. Both configurations are of the same
 * command, and were loaded without faults.
 */
void config_changes(const struct config *before, const struct config *after,
		    void (*met)(void *ctx, const struct option_row *row), void *ctx);

/*
 * Appends the place where option @row was set: "/etc/krait/agent.conf:3", "command line",
 * "default".
 */
struct str;
void config_origin(const struct config *c, const struct option_row *row, struct str *ret);

/* The row of --config. @at: offset of a const char *. */
#define CONFIG_ROW(at, otherwise)                                                                  \
	{                                                                                          \
		.name = "config", .arg = "FILE", .set = value_string, .field = (at),               \
		.initial = (otherwise), .complete = COMPLETE_FILE, .in_file = OPTION_TYPED,        \
		.help = "read FILE, then the *.conf in the directory FILE.d; each line is a long " \
			"option without its dashes"                                                \
	}

#endif
