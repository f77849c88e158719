/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the lines of a file of intervals; see intervals.h. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/json_in.h"
#include "base/nomem.h"
#include "profile/intervals/intervals.h"

#define MAX_LABELS INTERVALS_MAX_KEYS /* the most labels of one line */

/* A line of the file, parsed. .has tells which of the numbers the line has. */
struct parsed {
	int64_t numbers[4];
	bool has[4];
	struct str member, keys[MAX_LABELS], values[MAX_LABELS];
	unsigned n;
};

enum { PID, TID, BEGIN, END };
static const char *const names[] = {[PID] = "pid", [TID] = "tid", [BEGIN] = "begin", [END] = "end"};

/*
 * Tells whether @key is the key of a label that krait itself gives to samples, and that views rely
 * on.
 */
static bool is_own(const char *key)
{
	static const char *const own[] = {"pid",       "tid", "thread", "process",    "cgroup",
					  "container", "gil", "state",	"time",	      "wait",
					  "idle",      "on",  "waiter", "waiter_tid", "uid"};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (streq(key, own[i]))
			return true;
	return false;
}

static int take_labels(struct parsed *l, struct json_in *in)
{
	int r = json_in_enter(in, '{');

	while (!r && l->n < MAX_LABELS && (r = json_in_key(in, &l->keys[l->n])) > 0) {
		r = json_in_string(in, &l->values[l->n]);
		if (r)
			return r;
		l->n++;
	}
	if (!r && l->n == MAX_LABELS)
		return json_in_key(in, &l->member)
			       ? err_set(-EINVAL, "more than %d labels", MAX_LABELS)
			       : 0;
	return r;
}

static int take_member(struct parsed *l, struct json_in *in)
{
	const char *name = str_cstr(&l->member);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i])) {
			l->has[i] = true;
			return json_in_integer(in, &l->numbers[i]);
		}
	return streq(name, "labels") ? take_labels(l, in) : json_in_skip(in);
}

static int check_text(const struct str *s, const char *what)
{
	if (s->n > INTERVALS_MAX_TEXT)
		return err_set(-EINVAL, "a %s of more than %d bytes", what, INTERVALS_MAX_TEXT);
	return s->n ? 0 : err_set(-EINVAL, "an empty %s", what);
}

static int check(const struct parsed *l)
{
	const int64_t *n = l->numbers;
	int r = 0;

	if (!l->has[PID] || !l->has[BEGIN] || !l->has[END] || !l->n)
		return err_set(-EINVAL, "pid, begin, end and labels are needed");
	if (n[PID] <= 0 || n[PID] > INT32_MAX || n[TID] < 0 || n[TID] > INT32_MAX)
		return err_set(-EINVAL, "pid or tid is out of range");
	if (n[BEGIN] < 0 || n[END] < n[BEGIN])
		return err_set(-EINVAL, "the interval ends before it begins");
	for (unsigned i = 0; i < l->n && !r; i++) {
		r = check_text(&l->keys[i], "key");
		r = r ? r : check_text(&l->values[i], "value");
		if (!r && is_own(str_cstr(&l->keys[i])))
			r = err_set(-EINVAL, "%s is a label that krait writes itself",
				    str_cstr(&l->keys[i]));
	}
	return r;
}

static int parse(struct parsed *l, const char *text, size_t n)
{
	struct json_in in;
	int r;

	l->n = 0;
	memset(l->numbers, 0, sizeof(l->numbers));
	memset(l->has, 0, sizeof(l->has));
	json_in_init(&in, text, n);
	r = json_in_enter(&in, '{');
	while (!r && (r = json_in_key(&in, &l->member)) > 0)
		r = take_member(l, &in);
	r = r ? r : json_in_end(&in);
	return r ? r : check(l);
}

/*
 * Returns the number of a key, counted from 1. -EINVAL + message: there are too many keys. -ENOMEM
 * + message.
 */
static int key_of(struct intervals *v, const struct str *key)
{
	struct str *new = &v->keys[v->n_keys];

	for (unsigned i = 0; i < v->n_keys; i++)
		if (streq(str_cstr(&v->keys[i]), str_cstr(key)))
			return (int)i + 1;
	if (v->n_keys == INTERVALS_MAX_KEYS)
		return err_set(-EINVAL, "more than %d keys in the file", INTERVALS_MAX_KEYS);
	str_fini(new); /* frees the text that a skipped line left in *new */
	*new = (struct str){};
	str_add_n(new, key->s, key->n);
	return new->failed ? err_nomem() : (int)++v->n_keys;
}

static int add_label(struct intervals *v, const struct parsed *l, unsigned i)
{
	struct interval new = {.pid = (uint32_t)l->numbers[PID],
			       .tid = (uint32_t)l->numbers[TID],
			       .begin_ns = (uint64_t)l->numbers[BEGIN],
			       .end_ns = (uint64_t)l->numbers[END],
			       .order = (uint32_t)v->list.n};

	int key = key_of(v, &l->keys[i]);

	if (key < 0)
		return key;
	if (v->list.n >= INTERVALS_MAX_LABELS) {
		v->left_out++;
		return 0;
	}
	new.key = (uint32_t)key;
	new.value = intern_put(&v->values, l->values[i].s, l->values[i].n);
	return !new.value || vec_push(&v->list, new) ? err_nomem() : 0;
}

/* Adds all labels of a line, or none of them. */
static int add_labels(struct intervals *v, const struct parsed *l)
{
	size_t n = v->list.n;
	unsigned n_keys = v->n_keys;
	int r = 0;

	for (unsigned i = 0; i < l->n && !r; i++)
		r = add_label(v, l, i);
	if (r) {
		v->list.n = n;
		v->n_keys = n_keys;
	}
	return r;
}

/* Reads a line and keeps its labels. @number: the line's number in the file. */
static int take_line(struct intervals *v, struct parsed *l, uint64_t number, const char *text,
		     size_t n, const struct map *pids)
{
	int r;

	v->lines++;
	r = parse(l, text, n);
	if (!r && (!pids || map_get(pids, (uint64_t)l->numbers[PID])))
		r = add_labels(v, l);
	if (r != -EINVAL)
		return r;
	if (!v->bad_lines++)
		snprintf(v->first_bad, sizeof(v->first_bad), "line %llu: %s",
			 (unsigned long long)number, err_msg());
	return 0;
}

static void parsed_fini(struct parsed *l)
{
	str_fini(&l->member);
	for (size_t i = 0; i < MAX_LABELS; i++) {
		str_fini(&l->keys[i]);
		str_fini(&l->values[i]);
	}
}

int intervals_read(struct intervals *v, const char *text, size_t n, const struct map *pids)
{
	_cleanup_(parsed_fini) struct parsed l = {};
	uint64_t number = 0;
	const char *end;
	int r = 0;

	*v = (struct intervals){};
	intern_init(&v->values, 0);
	while (!r && (end = memchr(text, '\n', n))) {
		size_t length = (size_t)(end - text);

		number++;
		if (length)
			r = take_line(v, &l, number, text, length, pids);
		text += length + 1;
		n -= length + 1;
	}
	return r;
}

void intervals_fini(struct intervals *v)
{
	intern_fini(&v->values);
	for (size_t i = 0; i < INTERVALS_MAX_KEYS; i++)
		str_fini(&v->keys[i]);
	vec_fini(&v->list);
}
