/* SPDX-License-Identifier: BSD-2-Clause */
/* What the writers of formats need beside the profile. */
#ifndef FORMAT_COMMON_OPTIONS_H
#define FORMAT_COMMON_OPTIONS_H

#include <stdint.h>

#include "profile/sample_order.h"

struct html_diff;

struct render_options {
	/* title of a picture; NULL: the title is made from the profile's metadata */
	const char *title;
	/*
	 * name of the value type that is written; NULL: the format's default (for folded the number
	 * of samples, for others the profile's default)
	 */
	const char *value;
	/*
	 * what the outermost frames stand for: "process", "thread", "cgroup" or a label; NULL: for
	 * processes, if there are several
	 */
	const char *by;
	enum profile_times times;
	bool annotate; /* for folded: each name gets a suffix that tells the kind of frame */
	bool bare;     /* for trace: the file is only the list of events, as py-spy writes it */
	/*
	 * Opens a file that the recording names, to put its source text into the page. Returns a
	 * descriptor or -errno. For two errors the page says why it has no text: -EPERM (krait
	 * shows the text only on request) and -ESTALE (the file isn't the one that ran). NULL: no
	 * source text is shown. *since_ns: on entry, the start of the recording; on return, the
	 * time after which the file must not have changed if it is the one that ran.
	 */
	int (*open_source)(void *arg, const char *path, int64_t *since_ns);
	void *source_arg;
	/* Called for each file of which the page has lines; may be NULL. @arg: .source_arg. */
	void (*source_shown)(void *arg, const char *path);
	/*
	 * source text that read_source_file() took out of a page; if it isn't NULL, .open_source
	 * isn't called
	 */
	const char *source_text;
	/* the first sentence of the page; NULL or "": the page has no such sentence */
	const char *headline;
	bool tells_waits; /* .headline says for which part of its time the program waits */
	/* the comparison, if the page compares two recordings; else NULL */
	const struct html_diff *diff;
};

#endif
