/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses events, which have a name and a rate; see event.h. */
#include "sampler/sources/event.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text/str.h"

static const struct event_source *const sources[] = {&source_clock, &source_counter,
						     &source_hardware, &source_wait};

#define MAX_NAMES 64

const char *const *event_names(void)
{
	static const char *names[MAX_NAMES + 1];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		for (unsigned k = 0; k < sources[i]->n_events && n < MAX_NAMES; k++)
			names[n++] = sources[i]->events[k].name;
	return names;
}

static int unknown(const char *spec)
{
	_cleanup_str_ struct str list = {};
	const char *const *names = event_names();

	for (size_t i = 0; names[i]; i++)
		str_addf(&list, "%s%s", i ? ", " : "", names[i]);
	return err_set(-EINVAL,
		       "unknown event '%.60s'; the events are %s and rHEX. All but wait may end in "
		       ":u (user code only) or :k (kernel only), or have their own rate: "
		       "NAME/period=1/ or NAME/freq=99/",
		       spec, str_cstr(&list));
}

static bool parse_modifiers(struct event *e, const char *s)
{
	bool user = false, kernel = false;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s == 'u')
			user = true;
		else if (*s == 'k')
			kernel = true;
		else if (*s == 'p' && e->precise < 3)
			e->precise++;
		else
			return false;
	}
	if (user != kernel) {
		e->exclude_user = kernel;
		e->exclude_kernel = user;
	}
	return true;
}

static bool take(struct event *e, const struct event_source *source, const struct source_event *s)
{
	e->source = source;
	e->type = s->type;
	e->config = s->config;
	snprintf(e->sample_type, sizeof(e->sample_type), "%s",
		 source->value ? source->value : s->name);
	return true;
}

static bool parse_name(struct event *e, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct event_source *source = sources[i];
		struct source_event other;

		for (unsigned k = 0; k < source->n_events; k++) {
			const struct source_event *s = &source->events[k];

			if (streq(name, s->name) || (s->alias && streq(name, s->alias)))
				return take(e, source, s);
		}
		if (source->parse && source->parse(&other, name))
			return take(e, source, &other);
	}
	return false;
}

static int set_rate(struct event *e, uint32_t hz, uint64_t count)
{
	const struct event_source *source = e->source;
	uint64_t period = count ? count : source->clock && hz ? NSEC_PER_SEC / hz : 0;

	if ((hz != 0) == (count != 0))
		return err_set(-EINVAL, "give a frequency or a count, not both and not 0");
	if (count >> 63) /* perf_event_open() refuses a sample_period whose bit 63 is set */
		return err_set(-EINVAL, "a count of %llu is too large", (unsigned long long)count);
	if (source->clock && period < source->least_period)
		return err_set(
			-EINVAL,
			"%s can't be faster than one sample in %llu ns (%llu Hz); ask for less",
			e->name, (unsigned long long)source->least_period,
			(unsigned long long)(NSEC_PER_SEC / source->least_period));
	e->hz = hz;
	e->period = period;
	return 0;
}

/* Reads "period=N" or "freq=HZ", the @n bytes at @s. 0; -EINVAL + message. */
static int parse_rate(struct event *e, const char *s, size_t n)
{
	bool period = str_starts(s, "period=");
	const char *digits = s + strlen(period ? "period=" : "freq=");
	uint64_t v, most = period ? INT64_MAX : UINT32_MAX;
	char *end;

	errno = 0;
	v = strtoull(digits, &end, 10);
	if (!isdigit((unsigned char)*digits) || end != s + n || errno || !v || v > most)
		return err_set(-EINVAL,
			       "event %s: %s is a whole number from 1 to %llu, and '%.*s' isn't",
			       e->name, period ? "period" : "freq", (unsigned long long)most,
			       (int)(s + n - digits), digits);
	e->own_rate = true;
	e->period = period ? v : 0;
	e->hz = period ? 0 : (uint32_t)v;
	return 0;
}

/*
 * Reads what follows the name: ":MODIFIERS", "/RATE/" or "/RATE/MODIFIERS". 0; -EINVAL with a
 * message.
 */
static int parse_rest(struct event *e, const char *spec, const char *rest)
{
	bool rated = *rest == '/';
	size_t n = rated ? strcspn(++rest, "/") : 0;
	const char *modifiers = rest + n; /* ":MODIFIERS", "/MODIFIERS" or "/" */

	if (rated && (!*modifiers || !(str_starts(rest, "period=") || str_starts(rest, "freq="))))
		return unknown(spec);
	if (*modifiers && !(rated && !modifiers[1]) && !parse_modifiers(e, modifiers + 1))
		return unknown(spec);
	return rated ? parse_rate(e, rest, n) : 0;
}

int event_parse(struct event *ret, const char *spec)
{
	struct event e = {};
	size_t n = strcspn(spec, ":/");
	const char *modifiers = strrchr(spec, spec[n]); /* what follows the last ':' or '/' */
	int r;

	if (strlen(spec) >= sizeof(e.name))
		return unknown(spec);
	memcpy(e.name, spec, n);
	if (!parse_name(&e, e.name))
		return unknown(spec);
	r = parse_rest(&e, spec, spec + n);
	if (r)
		return r;
	if (e.source->whole && spec[n])
		return err_set(-EINVAL,
			       "event %s takes no rate and no modifiers, because every wait "
			       "counts; leave '%s' out",
			       e.name, spec + n);
	if (spec[n] && modifiers[1])
		snprintf(e.name + n, sizeof(e.name) - n, ":%s", modifiers + 1);
	r = e.own_rate ? set_rate(&e, e.hz, e.period) : 0;
	if (!r)
		*ret = e;
	return r;
}

int event_set_rate(struct event *e, uint32_t hz, uint64_t count)
{
	return e->own_rate || e->source->whole ? 0 : set_rate(e, hz, count);
}
