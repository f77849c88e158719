/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait py-spy`: the command line, output and exit codes of py-spy 0.4 (its src/config.rs,
 * main.rs, dump.rs, flamegraph.rs), on top of krait's own record, top and dump. The manual lists
 * the differences under "AS PY-SPY".
 */
#ifndef CLI_PY_SPY_PY_SPY_H
#define CLI_PY_SPY_PY_SPY_H

#include "cli/dump/dump.h"
#include "cli/options/options.h"
#include "cli/top/top.h"

enum py_spy_format { PY_SPY_FLAMEGRAPH, PY_SPY_RAW, PY_SPY_SPEEDSCOPE, PY_SPY_CHROMETRACE };

#define PY_SPY_NO_TIME 1 /* value of .duration_ns for --duration 0, which only checks permission */

struct py_spy_options {
	pid_t pid; /* id of the process to examine; 0: none was named */
	/* words of the program to run, NULL-terminated; NULL: none was named */
	char **program;
	const char *output;   /* path of the output; NULL: krait makes a name */
	uint64_t duration_ns; /* how long to record; 0: until the program ends or a signal comes */
	uint64_t delay_ns;    /* length of an interval of top */
	uint32_t rate_hz;
	enum py_spy_format format;
	int locals;
	bool subprocesses, function, nolineno, threads, gil, idle, native, json;
	bool full_filenames, hideprogress, capture, ignored;
};

/* Execute the command and return the exit code. */
int py_spy_record(const struct py_spy_options *o);
int py_spy_top(const struct py_spy_options *o);
int py_spy_dump(const struct py_spy_options *o);

/* Returns py-spy's exit code for krait's @code. */
int py_spy_exit_code(int code);

/*
 * Replaces *p by a profile of what py-spy shows: stacks that contain Python, with py-spy's root
 * frames. For the raw format, frames are written as py-spy does. *ret: how many samples are left. 0
 * or -errno + message; on error *p is unchanged.
 */
_must_use_ int py_spy_shape(const struct py_spy_options *o, struct profile **p, uint64_t *ret);

/*
 * The root directory of process @pid (0: krait's own), O_PATH; -1: the process is gone, or krait
 * may not see it.
 */
int py_spy_root(pid_t pid);

/*
 * Returns the path of a file as py-spy shortens it, "json/decoder.py": the part from the outermost
 * directory on that has an __init__.py. With @o->full_filenames, the whole path. @root:
 * py_spy_root(). If it is -1, the module's name (if known) tells which directories are packages.
 * @names: the names of the frames in @p. The result points into the profile's string.
 */
const char *py_spy_file(const struct py_spy_options *o, const struct profile *p,
			const struct render_names *names, uint32_t function, int root);

#endif
