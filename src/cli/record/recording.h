/* SPDX-License-Identifier: BSD-2-Clause */
/* What record.c, which begins a recording, and finish.c, which ends it, share. */
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
	/* .session.sources and .session.texts point here if source text is wanted */
	struct source_files sources;
	struct collect_texts texts;
	struct output output, summary; /* .summary is set only with --summary-json */
	char *path;		       /* path of the output */
	/* the first sentence of the report; set once the output is written */
	struct str headline;
	bool tells_waits;  /* .headline says how much of the time the program waits */
	int stopped;	   /* the signal that ended the recording, or 0 */
	uint64_t shown_ns; /* when progress was last shown, CLOCK_MONOTONIC */
};

/*
 * finish.c: ends a recording that worked: writes the file, prints the closing lines, returns the
 * exit code. @broken: the error that ended it early; 0: none.
 */
int recording_finish(struct recording *x, int broken);

#endif
