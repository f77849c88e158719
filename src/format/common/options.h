/* SPDX-License-Identifier: BSD-2-Clause */
/* What a writer needs beside the profile. */
#ifndef FORMAT_COMMON_OPTIONS_H
#define FORMAT_COMMON_OPTIONS_H

#include <stdint.h>

#include "profile/sample_order.h"

struct html_diff;

struct render_options {
	const char *title; /* for pictures; NULL: made from the profile's metadata */
	/*
	 * value type; NULL: the format's default (folded: samples; others: the profile's default)
	 */
	const char *value;
	/*
	 * root frames: "process", "thread", "cgroup", a label; NULL: process, if there are several
	 */
	const char *by;
	enum profile_times times;
	bool annotate; /* folded: a suffix after names shows the kind of frame */
	bool bare;     /* trace: only the list of events, as py-spy writes it */
	/*
	 * Opens a file that the recording names, for the page's source text. Returns a descriptor
	 * or -errno. The page says so for -EPERM (could be shown on request) and -ESTALE (not the
	 * file that ran). NULL: no source text. *since_ns: in: the start of the recording; out: a
	 * file that changed after this isn't the one that ran.
	 */
	int (*open_source)(void *arg, const char *path, int64_t *since_ns);
	void *source_arg;
	/* Called for each file of which lines are in the page; may be NULL. @arg: .source_arg. */
	void (*source_shown)(void *arg, const char *path);
	/* used in place of .open_source: source text that read_source_file() took from a page */
	const char *source_text;
	const char *headline;	      /* the page's first sentence; NULL or "": none */
	const struct html_diff *diff; /* set if the page compares two recordings, else NULL */
};

#endif
