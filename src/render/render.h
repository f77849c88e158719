/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Outputs. One file per format, one row per format in render.c: extension, name, writer. Everything
 * here works on a struct profile alone and needs no rights.
 */
#ifndef RENDER_RENDER_H
#define RENDER_RENDER_H

#include <stdio.h>
#include "base/str.h"
#include "profile/pprof.h"
#include "profile/profile.h"

struct html_diff;

struct render_options {
	const char *title; /* for pictures; NULL = made from the profile's meta */
	const char *value; /* value type, NULL = the format's default (folded: samples; others:
			      default) */
	const char *by;	   /* root frames: "process", "thread", "cgroup", a label; NULL = process if
			      several */
	enum pprof_times times;
	bool annotate; /* folded: a suffix after names tells the kind of frame */
	bool bare;     /* trace: the list of events alone, as py-spy writes it */
	/*
	 * For the page's source text: a descriptor of a file that a recording names, or -errno where
	 * it may not be shown; -EPERM where it could be if asked for, -ESTALE where it isn't the one that
	 * ran, which both is said. NULL: no source text. @since_ns: if it changed after that it isn't; at first the start of the recording.
	 */
	int (*open_source)(void *arg, const char *path, int64_t *since_ns);
	void *source_arg;
	/* Lines of this file are in the page. NULL: nobody wants to know. @arg: as of open_source. */
	void (*source_shown)(void *arg, const char *path);
	const char *source_text; /* instead of that: as read_source_file() took it from a page */
	const char *headline;	 /* of the page: what a reader is told first; NULL or "": nothing */
	const struct html_diff *diff; /* the page compares two recordings; else NULL */
};

struct render_format {
	const char *name;	   /* "folded" */
	const char *extensions[4]; /* ".folded", ".txt"; NULL-terminated */
	const char *loses;	   /* for --help and the man page; "nothing" */
	int (*write)(struct profile *p, FILE *out, const struct render_options *opt);
	bool no_by;	  /* has no place for what --by asks for */
	bool needs_times; /* can't show samples without a time, nor values that aren't time */
};

extern const struct render_format render_formats[];
extern const size_t render_n_formats;

/* By --format name, or by the longest matching extension of a file name; NULL + message if none. */
const struct render_format *render_by_name(const char *name);
const struct render_format *render_by_file(const char *path);
const struct render_format *render_known_file(const char *path); /* the same without a message */

/* 0, or -EINVAL + message if the format has no place for what @by asks for; NULL is fine. */
_must_use_ int render_check_by(const struct render_format *format, const char *by);

/*
 * How a frame is written in text: "qualname (file:line)". Files are cut after the longest of
 * site-packages/, lib/pythonX.Y/, the process's directory, never so that two files coincide.
 * A names object holds that decision for one profile.
 */
struct render_names;
/* NULL + message on out of memory. Interning into @p afterwards makes the object stale. */
struct render_names *render_names_new(struct profile *p);
void render_names_free(struct render_names *n);

/* Shortened file of a function, "" if it has none; valid as long as @n. */
const char *render_names_file(const struct render_names *n, uint32_t function);

/*
 * The module that the file is, as Python imports it: "json.decoder". Behind the directory of the script that ran; two
 * files of the project never coincide, those of a library do that is installed twice. "" if it has no file.
 */
const char *render_names_module(const struct render_names *n, uint32_t function);

/* Whose code a Python function is: the project's, an installed package's, the standard library's.
 */
enum render_origin { ORIGIN_OWN, ORIGIN_PACKAGE, ORIGIN_STDLIB };
enum render_origin render_names_origin(const struct render_names *n, uint32_t function);

/* "/tmp/ipykernel_7/In [3]" is what a notebook shows as In [3]: bytes before that, 0: @path is another file. */
size_t render_after_kernel(const char *path);

/* Name of a mapping, a file without its directory: "libz.so.1", "[kernel]"; or "". */
const char *render_names_mapping(const struct render_names *n, uint32_t mapping);

/*
 * Appends the name alone: "qualname", "symbol"; "[libz.so.1+0x1234]" where there is no symbol. The
 * number is what addr2line and objdump take, as far as the recording tells.
 */
void render_names_function(const struct render_names *n, uint32_t location, struct str *b);

/*
 * "C", "C++", "Rust", "Go" for the symbol of a native function, as in its file and as it is shown;
 * "" where @symbol is.
 */
const char *render_language(const char *name, const char *symbol);

/* Appends the frame: "qualname (file:line)", "symbol (libz.so.1)"; marks as they are. */
void render_names_frame(const struct render_names *n, uint32_t location, struct str *b);

#endif
