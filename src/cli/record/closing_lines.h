/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that compose the closing lines share. */
#ifndef CLI_RECORD_CLOSING_LINES_H
#define CLI_RECORD_CLOSING_LINES_H

#include "base/text/str.h"
#include "base/util.h"
#include "cli/record/closing.h"

/*
 * Add a line. closing_note(): the recording keeps the line; it is printed too if it tells of a
 * problem (@amiss). closing_line_as(): the recording keeps the line as a comment with key @key.
 */
void closing_line(struct closing *c, enum log_level level, const char *fmt, ...) _printf_(3, 4);
void closing_note(struct closing *c, bool amiss, const char *fmt, ...) _printf_(3, 4);
void closing_line_as(struct closing *c, const char *key, const char *fmt, ...) _printf_(3, 4);

/*
 * Tells whether a problem with @samples, out of @of, is so large that it is printed even without
 * -v.
 */
bool closing_is_amiss(uint64_t samples, uint64_t of);
/* Appends " of NAME", which names the event, if the recording has several events. */
void closing_name_event(const struct session *s, const struct event *e, struct str *ret);

/* closing_losses.c: adds lines about what was lost, left out or put off, and why. */
void closing_add_losses(const struct session *s, struct closing *c);
/*
 * closing_waits.c: adds lines about how long threads waited, what they waited for most, and how
 * long they had no CPU.
 */
void closing_add_waits(const struct session *s, struct closing *c);

#endif
