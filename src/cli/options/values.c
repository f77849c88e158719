/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the values that users typed for options, and stores them in fields; see values.h. */
#include "cli/options/values.h"

#include <ctype.h>
#include <limits.h>
#include "base/error.h"
#include "base/vec.h"
#include "cli/color.h"
#include "profile/sample_order.h"
#include "profile/profile.h"
#include "unwind.h"

int value_flag(void *field, const char *text)
{
	*(bool *)field = true;
	return 0;
}

int value_no_flag(void *field, const char *text)
{
	*(bool *)field = false;
	return 0;
}

int value_more(void *field, const char *text)
{
	++*(int *)field;
	return 0;
}

int value_string(void *field, const char *text)
{
	if (!*text)
		return err_set(-EINVAL, "the value is empty");
	*(const char **)field = text;
	return 0;
}

int value_strings(void *field, const char *text)
{
	VEC(const char *) *list = field;

	if (!*text)
		return err_set(-EINVAL, "the value is empty");
	return vec_push(list, text);
}

int value_function(void *field, const char *text)
{
	bool begins = true, dotted = false;

	for (const char *s = text; *s || begins; s++) {
		bool letter = isalpha((unsigned char)*s) || *s == '_' || *s & 0x80;

		if (!letter && (begins || (*s != '.' && !isdigit((unsigned char)*s))))
			return err_set(-EINVAL,
				       "'%s' is not a function; write shop.jobs.next_job or "
				       "shop.jobs.Worker.next_job",
				       text);
		begins = *s == '.';
		dotted |= begins;
	}
	if (!dotted)
		return err_set(-EINVAL, "'%s' has no module; write shop.%s", text, text);
	return value_strings(field, text);
}

/*
 * Reads digits at *@text, and moves *@text past them. 0; -EINVAL if there are no digits; -ERANGE if
 * the number is above @max. strtoull() isn't used, because it accepts signs, spaces and
 * hexadecimal.
 */
static int read_digits(const char **text, uint64_t max, uint64_t *ret)
{
	const char *s = *text;
	uint64_t n = 0;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	for (; isdigit((unsigned char)*s); s++) {
		uint64_t digit = *s - '0';

		if (n > (max - digit) / 10)
			return -ERANGE;
		n = n * 10 + digit;
	}
	*text = s;
	*ret = n;
	return 0;
}

/* how many processes --pid may name: the kernel programs can't follow more (map `roots`) */
#define PIDS_MOST 16384

int value_pid(void *field, const char *text)
{
	VEC(pid_t) *pids = field;
	const char *s = text;
	uint64_t n;

	if (read_digits(&s, INT_MAX, &n) || *s || n == 0)
		return err_set(-EINVAL, "'%s' is not a process id; write one as in `-p 1234`%s",
			       text,
			       strchr(text, ',') ? ", and -p again for each further one" : "");
	vec_foreach(have, pids)
		if ((uint64_t)*have == n)
			return 0;
	if (pids->n == PIDS_MOST)
		return err_set(-EINVAL, "more than %d processes; leave --pid out to record all",
			       PIDS_MOST);
	return vec_push(pids, (pid_t)n);
}

/*
 * Returns how many ns a unit of time has; 0: the unit isn't known. A number without a unit is in
 * seconds.
 */
static uint64_t unit_ns(const char *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"", NSEC_PER_SEC},
		{"s", NSEC_PER_SEC},
		{"ms", NSEC_PER_MSEC},
		{"m", 60 * NSEC_PER_SEC},
		{"min", 60 * NSEC_PER_SEC},
		{"h", 3600 * NSEC_PER_SEC},
		{"d", 24 * 3600 * NSEC_PER_SEC},
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (streq(unit, units[i].name))
			return units[i].ns;
	return 0;
}

/* Reads a fraction such as ".25" at *@text. *ret: that part of @unit; 0 if there is no fraction. */
static int read_fraction(const char **text, uint64_t unit, uint64_t *ret)
{
	const char *s = *text;
	uint64_t sum = 0;

	if (*s == '.') {
		if (!isdigit((unsigned char)*++s))
			return -EINVAL;
		for (uint64_t part = unit / 10; isdigit((unsigned char)*s); s++, part /= 10)
			sum += (*s - '0') * part;
	}
	*text = s;
	*ret = sum;
	return 0;
}

#define PPM_PERCENT 10000

int value_budget(void *field, const char *text)
{
	const char *s = text;
	uint64_t percent, part;

	if (read_digits(&s, 100, &percent) || read_fraction(&s, PPM_PERCENT, &part) ||
	    (*s && !streq(s, "%")) || percent * PPM_PERCENT + part > 100 * PPM_PERCENT ||
	    percent * PPM_PERCENT + part < PPM_PERCENT / 10)
		return err_set(-EINVAL,
			       "'%s' is not a part of a CPU's time; write a number of percent from "
			       "0.1 to 100",
			       text);
	*(uint32_t *)field = (uint32_t)(percent * PPM_PERCENT + part);
	return 0;
}

int value_time(void *field, const char *text)
{
	const char *whole = text, *unit = text + strspn(text, "0123456789.");
	uint64_t ns = unit_ns(unit), n, fraction;

	if (!ns || read_digits(&whole, 1000000000, &n) || read_fraction(&whole, ns, &fraction) ||
	    whole != unit)
		return err_set(-EINVAL, "'%s' is not a duration; write 10, 10s, 500ms, 2m or 1h",
			       text);
	/*
	 * 2^62 ns, some 146 years, is the most that is accepted. read_digits() accepts 10^9 hours,
	 * which would overflow.
	 */
	if (n > UINT64_MAX / 4 / ns)
		return err_set(-EINVAL, "'%s' is too long a duration", text);
	*(uint64_t *)field = n * ns + fraction;
	return 0;
}

int value_duration(void *field, const char *text)
{
	int r = value_time(field, text);

	if (!r && !*(uint64_t *)field)
		return err_set(-EINVAL,
			       "a duration of '%s' leaves no time to sample; leave the option out "
			       "to record until Ctrl-C",
			       text);
	return r;
}

int value_scaled(const char *text, unsigned int unit, uint64_t max, uint64_t *ret)
{
	uint64_t n, factor = 1;
	int r = read_digits(&text, max, &n);

	if (r)
		return r;
	if (*text) {
		static const char letters[] = "kMG";
		const char *letter = strchr(letters, *text == 'K' ? 'k' : *text);

		if (!letter || text[1])
			return -EINVAL;
		for (const char *l = letters; l <= letter; l++)
			factor *= unit;
	}
	if (n > max / factor)
		return -ERANGE;
	*ret = n * factor;
	return 0;
}

int value_frequency(void *field, const char *text)
{
	uint64_t n;

	if (value_scaled(text, 1000, 1000000, &n) || n == 0)
		return err_set(-EINVAL,
			       "'%s' is not a frequency; write samples per second from 1 to "
			       "1000000, as in 999",
			       text);
	*(uint32_t *)field = n;
	return 0;
}

static bool read_number(const char *text, uint64_t *ret)
{
	uint64_t n;

	if (value_scaled(text, 1000, 1ull << 62, &n) || n == 0)
		return false;
	*ret = n;
	return true;
}

int value_count(void *field, const char *text)
{
	if (!read_number(text, field))
		return err_set(-EINVAL,
			       "'%s' is not a count; write how many events make one sample, as in "
			       "`-c 1000000` or `-c 1M`",
			       text);
	return 0;
}

int value_times(void *field, const char *text)
{
	if (!read_number(text, field))
		return err_set(-EINVAL, "'%s' is not a number of times; write 1 or more", text);
	return 0;
}

int value_memory(void *field, const char *text)
{
	uint64_t n;

	if (value_scaled(text, 1024, 4ull << 30, &n) || n < 8ull << 20)
		return err_set(-EINVAL, "'%s' is not an amount of memory from 8M to 4G", text);
	*(uint64_t *)field = n;
	return 0;
}

int value_label(void *field, const char *text)
{
	VEC(struct profile_label_text) *labels = field;
	const char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return err_set(-EINVAL, "'%s' is not a label; write KEY=VALUE", text);
	return vec_push(labels, (struct profile_label_text){text, equals - text, equals + 1});
}

/* Returns the index of @text in @words (NULL-terminated), or -EINVAL. */
static int find_word(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (streq(text, words[i]))
			return i;
	return -EINVAL;
}

int value_native(void *field, const char *text)
{
	static const char *const words[] = {[NATIVE_MODE_NONE] = "none",
					    [NATIVE_MODE_LEAF] = "leaf",
					    [NATIVE_MODE_FULL] = "full",
					    [NATIVE_MODE_FULL + 1] = NULL};
	int i = find_word(words, text);

	if (i < 0)
		return err_set(i, "'%s' is not known; write leaf, full or none", text);
	*(enum native_mode *)field = i;
	return 0;
}

int value_color(void *field, const char *text)
{
	static const char *const words[] = {"auto", "always", "never", NULL};
	int i = find_word(words, text);

	if (i < 0)
		return err_set(i, "'%s' is not known; write auto, always or never", text);
	*(enum color_mode *)field = i;
	return 0;
}

int value_times_exact(void *field, const char *text)
{
	*(enum profile_times *)field = PROFILE_TIMES_EXACT;
	return 0;
}

int value_times_none(void *field, const char *text)
{
	*(enum profile_times *)field = PROFILE_TIMES_NONE;
	return 0;
}

bool value_adds(option_set_fn set)
{
	static const option_set_fn adding[] = {value_more, value_strings, value_pid, value_label,
					       value_function};

	for (size_t i = 0; i < ARRAY_SIZE(adding); i++)
		if (set == adding[i])
			return true;
	return false;
}
