/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands log messages to the sink; see log.h. */
#include "base/system/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/system/clock.h"
#include "base/text/visible.h"

#define MAX_TEXT 8192 /* the most bytes of one message: two long paths fit */
/* how many kinds of messages are counted apart; all further kinds share the last entry */
#define KINDS 64

/* How many messages of each kind were shown in the kind's last period. */
static struct limit {
	pthread_mutex_t lock;
	/* how many messages of one kind may be shown within .ns nanoseconds; 0: any number */
	unsigned most;
	uint64_t ns;
	struct kind {
		/* where in the program messages of this kind are sent; 0: this entry is free */
		uintptr_t place;
		uint64_t began_ns;
		unsigned shown, left_out;
	} kind[KINDS];
} limit = {.lock = PTHREAD_MUTEX_INITIALIZER};

static enum log_level max_level = LOG_NOTE;
/* the sink that shows messages; NULL: messages are dropped */
static const struct log_sink *shown_by;

void log_set_level(enum log_level level)
{
	max_level = level;
}

enum log_level log_level(void)
{
	return max_level;
}

void log_set_sink(const struct log_sink *sink)
{
	shown_by = sink;
}

void log_limit(unsigned most, uint64_t ns)
{
	limit.ns = ns;
	limit.most = most;
}

static struct kind *kind_of(uintptr_t place)
{
	struct kind *k = limit.kind;

	while (k < limit.kind + KINDS - 1 && k->place && k->place != place)
		k++;
	k->place = place;
	return k;
}

/*
 * Tells whether a message of kind @place may be shown now. *left_out: how many messages of the kind
 * were left out since one was shown.
 */
static bool is_shown(uintptr_t place, unsigned *left_out)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct kind *k;
	bool shown;

	*left_out = 0;
	if (!limit.most)
		return true;
	pthread_mutex_lock(&limit.lock);
	k = kind_of(place);
	if (!k->began_ns || now - k->began_ns >= limit.ns) {
		*left_out = k->left_out;
		k->shown = k->left_out = 0;
		k->began_ns = now;
	}
	shown = k->shown < limit.most;
	k->shown += shown;
	k->left_out += !shown;
	pthread_mutex_unlock(&limit.lock);
	return shown;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	uintptr_t place = (uintptr_t)__builtin_return_address(0) ^ (uintptr_t)fmt;
	char text[MAX_TEXT];
	unsigned left_out;
	size_t n;
	va_list ap;

	if (level > max_level || !shown_by || !is_shown(place, &left_out))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = strlen(text);
	if (left_out)
		snprintf(text + n, sizeof(text) - n, " (and %u more that weren't shown)", left_out);
	/* parts of the text, such as file names, may be chosen by a target */
	visible_in_place(text);
	shown_by->say(level, text);
}

void log_progress(const char *fmt, ...)
{
	char text[MAX_TEXT];
	va_list ap;

	if (max_level < LOG_NOTE || !shown_by)
		return;
	if (!fmt) {
		shown_by->progress(NULL);
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	visible_in_place(text);
	shown_by->progress(text);
}
