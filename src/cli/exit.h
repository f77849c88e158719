/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * krait's exit codes. They are the same for all commands, because scripts and CI jobs rely on them.
 */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

/* X(NAME, exit code, its description in the man page). */
#define EXIT_CODES(X)                                                                              \
	X(DONE, 0, "done; if there isn't a single sample, a warning is printed")                   \
	X(FAILED, 1,                                                                               \
	  "an error that shows only when the command runs: no such process, not Python, an event " \
	  "that the machine doesn't have, a file can't be read or written, no sample and "         \
	  "--require-samples")                                                                     \
	X(USAGE, 2, "the command line is wrong: unknown option, bad value")                        \
	X(RIGHTS, 3,                                                                               \
	  "rights or the kernel lack something; the message names the command that helps; "        \
	  "krait doctor: krait can't record here")                                                 \
	X(HIT, 4, "a --fail-if of krait diff was hit")                                             \
	X(NOT_RUNNABLE, 126, "the command after -- can't be run")                                  \
	X(NOT_FOUND, 127, "the command after -- wasn't found")                                     \
	X(ABORTED, 130,                                                                            \
	  "ended by a third Ctrl-C, or by a second Ctrl-C once all was written; 143 if the "       \
	  "signal was SIGTERM")

enum exit_code {
#define X(name, code, words) EXIT_##name = code,
	EXIT_CODES(X)
#undef X
};

#endif
