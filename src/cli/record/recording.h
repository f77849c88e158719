/* SPDX-License-Identifier: BSD-2-Clause */
/* What record.c (the beginning of a recording) and finish.c (its end) share. */
#ifndef CLI_RECORD_RECORDING_H
#define CLI_RECORD_RECORDING_H

#include "cli/record/record.h"
#include "host/files/output.h"
#include "host/files/source_files.h"
#include "record/session.h"

/* One run of `krait record`. */
struct recording {
	const struct record_options *options;
	struct session session;
	/*
	 * .sources: names of source files, noted for the page. .texts: functions that note source
	 * text from memory. .session points to both if source text is wanted.
	 */
	struct source_files sources;
	struct collect_texts texts;
	struct output output, summary; /* the open outputs: of the profile, and of --summary-json */
	char *path;		       /* path of the output */
	/* the first sentence of the report; set once the profile is written */
	struct str headline;
	bool tells_waits;  /* .headline says how much of the time the program waits */
	int stopped;	   /* the signal that ended the recording; 0: none did */
	uint64_t shown_ns; /* when the progress line was last printed, CLOCK_MONOTONIC */
};

/*
 * finish.c: writes the profile of a recording, and prints the closing lines. Returns the exit code.
 * @broken: the error that ended the recording early; 0: none did.
 */
int recording_finish(struct recording *x, int broken);

#endif
