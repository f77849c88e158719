/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `krait record` was asked to do: filled by options.c from the command line, done by
 * record.c. Everything in here is already checked; strings belong to argv and live as long as it.
 */
#ifndef CLI_RECORD_RECORD_H
#define CLI_RECORD_RECORD_H

#include <sys/types.h>
#include "base/vec.h"
#include "cli/color.h"
#include "cli/options/source_options.h"
#include "profile/pprof.h"
#include "view/view.h"
#include "unwind.h"

struct render_format;

struct label_option {
	const char *key; /* never empty; not NUL-terminated: key_len bytes */
	size_t key_len;
	const char *value; /* may be empty */
};

struct record_options {
	/* Targets. pids and cmd exclude each other; nothing set = every Python process. */
	VEC(pid_t) pids;	      /* in krait's PID namespace; > 0; no value twice */
	VEC(const char *) comms;      /* globs */
	VEC(const char *) cgroups;    /* globs */
	VEC(const char *) containers; /* names or id prefixes */
	char **cmd;		      /* NULL-terminated command after --, or NULL */
	bool no_children;	      /* only the -p processes themselves */

	/* Sampling. Exactly one of freq_hz and count is non-zero. */
	uint64_t duration_ns; /* 0 = until Ctrl-C or the end of all targets */
	uint32_t freq_hz;     /* the default is filled in: 999 for -p and --, else 99 */
	uint64_t count;	      /* event units per sample (ns for clocks) */
	const char *event;    /* perf's name, "cpu-clock" unless given; event_parse() takes it */

	/* Native and kernel frames. */
	enum native_mode native; /* where there is no Python in a stack, always all */
	bool interpreter_frames; /* NATIVE_MODE_FULL only: don't fold the interpreter's own away */
	bool native_lines;     /* lines and inlined functions by DWARF; not with NATIVE_MODE_NONE */
	bool kernel;	       /* true unless --no-kernel */
	bool kernel_addresses; /* as they are, for who may know them */
	bool all;	       /* other processes than Python too; no pids, no cmd */
	uint64_t unwind_memory; /* bytes, 8 MiB to 4 GiB, BPF maps included; 0: by what there is */

	uint64_t memory; /* bytes, 8 MiB to 4 GiB; 0 = by what there is */

	/* Output. */
	const char *output;		    /* file, "-" = stdout, NULL = a name made by record.c */
	const struct render_format *format; /* by --format, -f, the extension; never NULL */
	VEC(struct label_option) labels;
	const char *label_intervals; /* file that the target appends to, or NULL */
	const char *value;	     /* value type, NULL = the format's default */
	bool annotate;		     /* only where the format is folded */
	enum pprof_times times;
	struct view_options view; /* what of the recording is written */
	const char *summary_json; /* file for the closing lines as JSON, or NULL; "-" = stdout */
	bool open;		  /* show the output when it is written */
	struct source_options source;
	enum source_mode source_mode; /* only where the format is html */
	enum color_mode color;

	/* Conduct. */
	bool require_samples; /* no sample = EXIT_FAILED */
	bool if_permitted;    /* without rights run cmd unprofiled, with one warning */
	bool end_command;     /* the recording's end kills cmd, and its exit code isn't krait's */
	int verbose; /* -q -1, default 0, -v 1, -vv 2; log_set_level() was already called */

	/* Replaces the profile before it is written, by 0; or -errno + message. NULL: it stays. */
	int (*reshape)(void *arg, struct profile **p);
	void *reshape_arg;
	bool bare; /* render_options.bare */

	/* While parsing. */
	const char *format_name;
	bool folded, quiet;
};

void record_options_init(struct record_options *o);
void record_options_fini(struct record_options *o);

/*
 * Checks what one option alone can't show and fills the defaults in; 0, or -EINVAL + message: the
 * command line is wrong.
 */
_must_use_ int record_options_check(struct record_options *o);

/* --by is a label that only the intervals of --label-intervals may bring. */
bool record_by_interval(const struct record_options *o);

/* The whole of `krait record` after the command line; returns the exit code (exit.h). */
int cmd_record(const struct record_options *o);

#endif
