/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait py-spy` has the command line, output and exit codes of py-spy 0.4 (src/config.rs, main.rs,
 * dump.rs and flamegraph.rs in py-spy), but records with krait's own record, top and dump. The
 * section "AS PY-SPY" of the manual lists the differences.
 */
#ifndef CLI_PY_SPY_PY_SPY_H
#define CLI_PY_SPY_PY_SPY_H

#include "cli/dump/dump.h"
#include "cli/options/options.h"
#include "cli/top/top.h"

enum py_spy_format { PY_SPY_FLAMEGRAPH, PY_SPY_RAW, PY_SPY_SPEEDSCOPE, PY_SPY_CHROMETRACE };

/*
 * value of .duration_ns after --duration 0: nothing is recorded, only the right to record is
 * checked
 */
#define PY_SPY_NO_TIME 1

struct py_spy_options {
	pid_t pid; /* id of the process to examine; 0: the user named none */
	/* words of the program to run, NULL-terminated; NULL: the user named none */
	char **program;
	const char *output;   /* path of the output; NULL: krait chooses a name */
	uint64_t duration_ns; /* how long to record; 0: until the program ends or a signal comes */
	uint64_t delay_ns;    /* length of an interval of `krait py-spy top` */
	uint32_t rate_hz;
	enum py_spy_format format;
	int locals;
	bool subprocesses, function, nolineno, threads, gil, idle, native, json;
	bool full_filenames, hideprogress, capture, ignored;
};

/* Run the command, and return its exit code. */
int py_spy_record(const struct py_spy_options *o);
int py_spy_top(const struct py_spy_options *o);
int py_spy_dump(const struct py_spy_options *o);

/* Returns the exit code that py-spy has where krait has @code. */
int py_spy_exit_code(int code);

/*
 * Replaces *p by a profile of what py-spy shows: only stacks with Python frames, under py-spy's
 * root frames. For the raw format, the names of frames are as py-spy writes them. *ret: how many
 * samples are left. 0 or -errno + message; after an error *p is unchanged.
 */
_must_use_ int py_spy_shape(const struct py_spy_options *o, struct profile **p, uint64_t *ret);

/*
 * Opens the root directory of process @pid (0: krait's own) as O_PATH. -1: the process is gone, or
 * krait has no right to see it.
 */
int py_spy_root(pid_t pid);

/*
 * Returns the path of @function's file as py-spy shortens it, for example "json/decoder.py": the
 * shortened path begins with the outermost package, that is, a directory that has an __init__.py.
 * With @o->full_filenames, returns the whole path. @root: the result of py_spy_root(). If @root is
 * -1, the module's name (if known) tells which directories are packages. @names: the names of the
 * frames in @p. The result points into the profile's string.
 */
const char *py_spy_file(const struct py_spy_options *o, const struct profile *p,
			const struct render_names *names, uint32_t function, int root);

#endif
