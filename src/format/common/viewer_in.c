/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the readers of viewers' JSON formats share; see viewer_in.h. */
#include "format/common/viewer_in.h"

#include <errno.h>
#include "base/error.h"
#include "format/common/unpack.h"

bool viewer_in_begins(const uint8_t *head, size_t n, char first)
{
	size_t i = 0;

	while (i < n && strchr(" \t\r\n", head[i]) && head[i])
		i++;
	return i < n && head[i] == first;
}

bool viewer_in_has(const uint8_t *head, size_t n, const char *word)
{
	return memmem(head, n, word, strlen(word));
}

int viewer_in_bad(const char *format, const struct json_in *in, const char *field, const char *what)
{
	return err_set(-EINVAL, "%s: %s: byte %zu: %s", format, field, (size_t)(in->at - in->start),
		       what);
}

int viewer_in_wrap(const char *format, int r, const char *field)
{
	return r < 0 ? err_wrap(r, "%s: %s", format, field) : r;
}

int viewer_in_text(const char *format, struct json_in *in, const char *field, struct str *ret)
{
	struct json_in before = *in;
	int r = json_in_string(in, ret);

	if (!r || r == -ENOMEM)
		return r;
	*in = before;
	str_clear(ret);
	return viewer_in_wrap(format, json_in_skip(in), field);
}

int viewer_in_id(const char *format, struct json_in *in, const char *field, struct str *ret)
{
	struct json_in before = *in;
	int64_t v;

	str_clear(ret);
	if (!json_in_integer(in, &v)) {
		str_addf(ret, "%lld", (long long)v);
		return 0;
	}
	*in = before;
	return viewer_in_text(format, in, field, ret);
}

int viewer_in_line(const char *format, struct json_in *in, const char *field, int32_t *ret)
{
	struct json_in before = *in;
	int64_t v;

	*ret = 0;
	if (!json_in_integer(in, &v)) {
		*ret = v > 0 && v <= INT32_MAX ? (int32_t)v : 0;
		return 0;
	}
	*in = before;
	return viewer_in_wrap(format, json_in_skip(in), field);
}

/* Tells whether a text is a number, and parses it. */
static bool is_number(const struct str *text, int times, int64_t *ret)
{
	struct json_in in;

	json_in_init(&in, str_cstr(text), text->n);
	return !json_in_scaled(&in, times, ret) && !json_in_end(&in);
}

int viewer_in_scaled(const char *format, struct json_in *in, const char *field, int times,
		     int64_t *ret, bool *known)
{
	_cleanup_str_ struct str text = {};
	struct json_in before = *in;
	int r;

	*known = !json_in_scaled(in, times, ret);
	if (*known)
		return 0;
	*in = before;
	r = json_in_string(in, &text);
	if (r == -ENOMEM)
		return r;
	*known = !r && is_number(&text, times, ret);
	if (!*known)
		*ret = 0;
	if (!r)
		return 0;
	*in = before;
	return viewer_in_wrap(format, json_in_skip(in), field);
}

int viewer_in_count(const char *format, struct json_in *in, const char *field,
		    struct viewer_counts *c, int64_t *ret, bool *known)
{
	struct json_in before = *in;
	bool fits;
	int r = viewer_in_scaled(format, in, field, PROFILE_MICROCOUNT_DIGITS, ret, &fits);

	if (r < 0)
		return r;
	*known = fits;
	c->has_fraction |= *ret % 1000000 != 0;
	if (fits && c->micro)
		return 0;
	*in = before;
	r = viewer_in_scaled(format, in, field, 0, ret, known);
	c->has_large |= *known && !fits;
	return r;
}

bool viewer_in_counts_again(struct viewer_counts *c)
{
	bool was = c->micro;

	c->rounded |= c->has_large;
	c->micro = c->has_fraction && !c->rounded;
	return c->micro != was;
}

int viewer_in_note(struct profile *p, const char *how, uint64_t n, const char *thing,
		   const char *what)
{
	_cleanup_str_ struct str text = {};

	if (!n)
		return 0;
	str_addf(&text, "%s: %llu %s%s %s", how, (unsigned long long)n, thing, n == 1 ? "" : "s",
		 what);
	return text.failed || comments_add(&profile_meta(p)->comments, str_cstr(&text))
		       ? VIEWER_NO_MEMORY
		       : 0;
}

int viewer_in_check_memory(const char *format, const struct json_in *in, const char *field,
			   const struct profile *p, size_t bytes, size_t budget)
{
	if (profile_failed(p))
		return VIEWER_NO_MEMORY;
	if (profile_bytes(p) + bytes > budget)
		return viewer_in_bad(format, in, field,
				     "the stacks and names need far more memory than a file of "
				     "this size should");
	return 0;
}

void viewer_in_set_start(struct profile *p, struct profile_location *l, int32_t line)
{
	struct profile_function fn;

	if (!l->function || line <= 0)
		return;
	fn = *profile_get_function(p, l->function);
	fn.start_line = line;
	l->function = profile_function(p, &fn);
}

/* The whole file is decompressed first, because parts of it refer to later parts. */
static int unpack_all(const char *format, struct unpack *u, size_t budget, struct str *ret)
{
	int r = unpack_rest(u, budget, ret);

	if (r == -E2BIG)
		return err_set(-E2BIG,
			       "%s: the file unpacks to far more than a file of this size should",
			       format);
	return r == -EINVAL ? err_wrap(r, "%s", format) : r;
}

int viewer_in_open(const char *format, const uint8_t *data, size_t n, size_t budget,
		   struct str *unpacked, struct json_in *ret)
{
	struct unpack u;
	int r = unpack_open(&u, data, n);

	if (r)
		return r;
	if (u.kind == UNPACK_PLAIN) {
		json_in_init(ret, (const char *)data, n);
	} else {
		r = unpack_all(format, &u, budget, unpacked);
		json_in_init(ret, str_cstr(unpacked), unpacked->n);
	}
	ret->lenient = true;
	unpack_close(&u);
	return r;
}
