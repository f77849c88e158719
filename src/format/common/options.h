/* SPDX-License-Identifier: BSD-2-Clause */
/* What a writer is told beside the profile. */
#ifndef FORMAT_COMMON_OPTIONS_H
#define FORMAT_COMMON_OPTIONS_H

#include <stdint.h>

#include "profile/sample_order.h"

struct html_diff;

struct render_options {
	const char *title; /* for pictures; NULL = made from the profile's meta */
	const char *value; /* value type, NULL = the format's default (folded: samples; others:
			      default) */
	const char *by;	   /* root frames: "process", "thread", "cgroup", a label; NULL = process if
			      several */
	enum profile_times times;
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

#endif
