/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits a file's text into lines; see lines.h. */
#include "format/common/lines.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "format/common/unpack.h"

#define MAX_LINE (16u << 20)
#define CHUNK	 (1u << 16)

struct splitter {
	const char *what;
	int (*take)(void *arg, const struct line *line);
	void *arg;
	/* offset of the next line in the uncompressed file, and the line's number, from 1 */
	uint64_t off, number;
};

static int take(struct splitter *s, const char *text, size_t n)
{
	struct line line = {text, n, s->off, ++s->number};

	s->off += n + 1;
	return s->take(s->arg, &line);
}

/*
 * Hands out the lines that end within buf[0..n). *@used: the offset in @buf at which the last line
 * begins, if that line doesn't end in @buf.
 */
static int take_whole(struct splitter *s, const char *buf, size_t n, size_t *used)
{
	int r = 0;

	*used = 0;
	while (!r) {
		const char *start = buf + *used, *end = memchr(start, '\n', n - *used);

		if (!end)
			break;
		r = take(s, start, (size_t)(end - start));
		*used += (size_t)(end - start) + 1;
	}
	return r;
}

static int read_all(struct splitter *s, struct unpack *u)
{
	_cleanup_free_ char *buf = NULL;
	size_t cap = 0, have = 0, got, used;
	int r = 0;

	while (!r && !u->ended) {
		if (have > MAX_LINE)
			return err_set(-EINVAL, "%s: byte %llu: the line is longer than 16 MiB",
				       s->what, (unsigned long long)s->off);
		if (vec_grow((void **)&buf, &cap, have + CHUNK, 1))
			return err_set(-ENOMEM, "out of memory for reading the profile");
		r = unpack_more(u, (uint8_t *)buf + have, cap - have, &got);
		if (r)
			return r == -EINVAL ? err_wrap(r, "%s", s->what) : r;
		have += got;
		r = take_whole(s, buf, have, &used);
		memmove(buf, buf + used, have - used);
		have -= used;
	}
	return r || !have ? r : take(s, buf, have);
}

int lines_each(const uint8_t *data, size_t n, const char *what,
	       int (*fn)(void *arg, const struct line *line), void *arg)
{
	struct splitter s = {.what = what, .take = fn, .arg = arg};
	struct unpack u;
	int r = unpack_open(&u, data, n);

	if (!r)
		r = read_all(&s, &u);
	unpack_close(&u);
	return r;
}
