/* SPDX-License-Identifier: BSD-2-Clause */
/* What the writer of a format needs beside the profile. */
#ifndef FORMAT_COMMON_OPTIONS_H
#define FORMAT_COMMON_OPTIONS_H

#include <stdint.h>

#include "profile/sample_order.h"

struct html_diff;

struct render_options {
	const char *title; /* title of a picture; NULL: made from the profile's metadata */
	/*
	 * name of the value type; NULL: the format's default (folded: samples; others: the
	 * profile's default)
	 */
	const char *value;
	/*
	 * what the outermost frames are: "process", "thread", "cgroup" or a label; NULL: processes,
	 * if there are several
	 */
	const char *by;
	enum profile_times times;
	bool annotate; /* for folded: a suffix after each name shows the kind of frame */
	bool bare;     /* for trace: only the list of events is written, as py-spy does */
	/*
	 * Opens a file that the recording names, for the page's source text. Returns a descriptor
	 * or -errno. After these two errors the page says why it has no text: -EPERM (the text is
	 * only shown on request) and -ESTALE (the file isn't the one that ran). NULL: no source
	 * text. *since_ns: in: the start of the recording; out: a file that changed after this time
	 * isn't the one that ran.
	 */
	int (*open_source)(void *arg, const char *path, int64_t *since_ns);
	void *source_arg;
	/* Called for each file of which lines are in the page; may be NULL. @arg: .source_arg. */
	void (*source_shown)(void *arg, const char *path);
	/*
	 * source text that read_source_file() took from a page; unless it is NULL, .open_source
	 * isn't called
	 */
	const char *source_text;
	/* the first sentence of the page; NULL or "": the page has no such sentence */
	const char *headline;
	bool tells_waits; /* .headline says for how much of its time the program waits */
	/* the comparison, if the page compares two recordings; else NULL */
	const struct html_diff *diff;
};

#endif
