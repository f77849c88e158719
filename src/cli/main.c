/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's beginning: finds the command that the first word of the command line names. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/log.h"
#include "base/work/slice.h"
#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/options/help.h"
#include "cli/words.h"
#include "host/rights.h"

/*
 * Returns the command that @word names, by its name or by an option such as --version. NULL: there
 * is no such command.
 */
static const struct command *command_by_alias(const char *word)
{
	if (streq(word, "--version") || streq(word, "-V"))
		return &command_version_line;
	if (streq(word, "--help") || streq(word, "-h"))
		return &command_help;
	return command_by_name(word);
}

static int unknown_command(char **words, int n)
{
	_cleanup_str_ struct str command = {};
	const char *names[32] = {};
	const char *word = words[0], *similar;

	for (size_t i = 0; commands[i] && i + 1 < ARRAY_SIZE(names); i++)
		names[i] = commands[i]->name;
	similar = options_similar(word, names);
	if (similar)
		log_error("there is no command '%s'; did you mean `krait %s`?", word, similar);
	else
		options_add_command(&command, "record", NULL, 0, words, n);
	if (command.n)
		log_error("there is no command '%s'; to run and profile a program: %s", word,
			  str_cstr(&command));
	return EXIT_USAGE;
}

/*
 * Opens something useless under each closed standard descriptor. Otherwise the first file that
 * krait opens would get the number of a standard descriptor, and messages would be written into
 * this file. These descriptors can't be read or written, and are closed in commands that krait
 * starts.
 */
static void hold_closed_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/", O_PATH | O_CLOEXEC);
}

static int run(int argc, char **argv)
{
	const struct command *c;

	if (argc && streq(path_base(argv[0]), command_py_spy.name))
		return command_py_spy.run(&command_py_spy, argc - 1, argv + 1);

	if (argc < 2) {
		help_overview(stderr);
		return EXIT_USAGE;
	}
	c = command_by_alias(argv[1]);
	if (c && c->reads_files && rights_drop_for_files()) {
		log_error("%s", error_words());
		return EXIT_FAILED;
	}
	if (c)
		return c->run(c, argc - 2, argv + 2);
	if (argv[1][0] == '-')
		return commands[0]->run(commands[0], argc - 1, argv + 1);
	return unknown_command(argv + 1, argc - 1);
}

/*
 * Writes what is still buffered for standard output, such as a short help text. In exit(), an error
 * such as a full disk would go unnoticed.
 */
static int flush(int code)
{
	if (code != EXIT_DONE || (!fflush(stdout) && !ferror(stdout)))
		return code;
	log_error("can't write to standard output: %s", strerror(errno));
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	hold_closed_descriptors();
	words_begin();
	limit_names = (struct limit_names){"--memory", "--unwind-memory"};
	return flush(run(argc, argv));
}
