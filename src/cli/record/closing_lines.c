/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that add a closing line; see closing_lines.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/record/closing_lines.h"

/* a problem that concerns a smaller percentage of the samples is printed only with -v */
#define AMISS_PERCENT 1.0

static void add_line(struct closing *c, struct closing_line l, const char *fmt, va_list ap)
{
	if (vasprintf(&l.text, fmt, ap) < 0)
		l.text = NULL;
	if (l.text && vec_push(&c->lines, l))
		free(l.text);
}

void closing_line(struct closing *c, enum log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(c, (struct closing_line){.level = level, .kept = level <= LOG_NOTE}, fmt, ap);
	va_end(ap);
}

void closing_note(struct closing *c, bool amiss, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(c, (struct closing_line){.level = amiss ? LOG_NOTE : LOG_INFO, .kept = true}, fmt,
		 ap);
	va_end(ap);
}

void closing_line_as(struct closing *c, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(c, (struct closing_line){.level = LOG_NOTE, .kept = true, .key = key}, fmt, ap);
	va_end(ap);
}

bool closing_is_amiss(uint64_t samples, uint64_t of)
{
	return summary_percent(samples, of) > AMISS_PERCENT;
}

void closing_name_event(const struct session *s, const struct event *e, struct str *ret)
{
	if (s->events.n > 1)
		str_addf(ret, " of %s", e->name);
}
