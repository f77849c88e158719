/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds code objects with the same content; see same.h. */
#include "collect/code/same.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/map.h"
#include "collect/code/codes.h"

#define BYTES	 4096 /* a content of more bytes than this isn't shared */
#define CONTENTS 512  /* how many contents are kept; a new content takes the place of the oldest */
#define SEEN	 4096 /* how many hashes are kept of contents that came once; a power of two */

/* The content of a record: all but what differs between processes, such as addresses. */
struct content {
	struct content_head {
		int32_t firstlineno, firsttraceable;
		uint32_t version, internal;
		struct {
			uint32_t len, bytes;
			uint16_t kind, ascii;
			uint32_t there; /* 1: the code object has this text; 0: it doesn't */
		} text[CODE_TEXT_MAX];
	} head;
	uint8_t bytes[BYTES];
};

struct kept_content {
	uint64_t hash;
	size_t n;		 /* how many bytes .content has */
	struct content *content; /* NULL: this entry is free */
	/*
	 * a code object of no process; the code objects with this content share its names and lines
	 */
	struct py_code *code;
};

struct same {
	struct kept_content kept[CONTENTS];
	size_t oldest;	    /* index in .kept of the content that is replaced next */
	struct map by_hash; /* kept_content.hash -> 1 + index in .kept */
	/* the hashes of contents that came once; the low bits of a hash are its index here */
	uint64_t seen[SEEN];
};

bool same_init(struct collect *c)
{
	return (c->same = calloc(1, sizeof(*c->same)));
}

/*
 * Called before a code object that shares the content of @code is freed. If no other code object
 * shares the content, @code isn't kept any more either, and its bytes are no longer counted.
 */
static void uncount(struct collect *c, const struct py_code *code)
{
	if (code && code->users == 1)
		c->kept.codes -= code->counted;
}

void same_free_code(struct collect *c, struct py_code *code)
{
	/*
	 * subtracts what was counted, which isn't the present size: names that were added to the
	 * code object later weren't counted
	 */
	c->kept.codes -= code->counted;
	uncount(c, code->like);
	py_code_free(code);
}

static void forget(struct collect *c, struct kept_content *k)
{
	if (!k->content)
		return;
	map_del(&c->same->by_hash, k->hash);
	c->kept.codes -= k->n;
	free(k->content);
	uncount(c, k->code);
	py_code_free(k->code);
	*k = (struct kept_content){};
}

void same_forget(struct collect *c)
{
	for (size_t i = 0; i < CONTENTS; i++)
		forget(c, &c->same->kept[i]);
}

void same_fini(struct collect *c)
{
	if (!c->same)
		return;
	same_forget(c);
	map_fini(&c->same->by_hash);
	free(TAKE_PTR(c->same));
}

/*
 * Are file name, name and qualified name one object? That is so in code objects that CPython makes
 * itself, such as _Py_InitCleanup (py_code_is_internal()).
 */
static bool has_one_text(const struct wire_text *text)
{
	return text[CODE_FILENAME].addr == text[CODE_NAME].addr &&
	       text[CODE_FILENAME].addr == text[CODE_QUALNAME].addr;
}

/*
 * Writes the content of record @rec to *ret. Returns how many bytes the content has; 0: the record
 * is too long, or contradicts itself.
 */
static size_t take_content(const struct rec_code *rec, size_t n, unsigned version,
			   struct content *ret)
{
	const uint8_t *p = (const uint8_t *)(rec + 1), *end = (const uint8_t *)rec + n;
	size_t at = 0;

	ret->head = (struct content_head){rec->firstlineno, rec->firsttraceable, version,
					  has_one_text(rec->text)};
	for (int i = 0; i < CODE_TEXT_MAX; i++) {
		const struct wire_text *w = &rec->text[i];
		size_t padded = WIRE_PADDED(w->bytes);

		if (padded > (size_t)(end - p) || padded > BYTES - at)
			return 0;
		ret->head.text[i].len = w->len;
		ret->head.text[i].bytes = w->bytes;
		ret->head.text[i].kind = w->kind;
		ret->head.text[i].ascii = w->ascii;
		ret->head.text[i].there = w->addr != 0;
		memcpy(ret->bytes + at, p, w->bytes);
		at += w->bytes;
		p += padded;
	}
	return offsetof(struct content, bytes) + at;
}

static struct kept_content *find(const struct same *all, const struct content *content, size_t n,
				 uint64_t hash)
{
	const uint64_t *i = map_get(&all->by_hash, hash);
	struct kept_content *k = i ? (struct kept_content *)&all->kept[*i - 1] : NULL;

	return k && k->n == n && !memcmp(k->content, content, n) ? k : NULL;
}

/*
 * Has a content with this hash come before? Notes the hash. A content that comes only once isn't
 * worth keeping.
 */
static bool was_seen(struct same *all, uint64_t hash)
{
	uint64_t *seen = &all->seen[hash % SEEN];
	bool was = *seen == hash;

	*seen = hash;
	return was;
}

/*
 * Keeps @content, and its new code object @code, of which it takes ownership. False: out of memory,
 * and the caller still owns @code.
 */
static bool keep(struct collect *c, const struct content *content, size_t n, uint64_t hash,
		 struct py_code *code)
{
	struct kept_content *k = &c->same->kept[c->same->oldest];
	struct content *copy = malloc(n);

	if (!copy)
		return false;
	forget(c, k);
	if (map_put(&c->same->by_hash, hash, c->same->oldest + 1)) {
		free(copy);
		return false;
	}
	c->same->oldest = (c->same->oldest + 1) % CONTENTS;
	memcpy(copy, content, n);
	*k = (struct kept_content){hash, n, copy, code};
	code->users = 1;
	code->serial = codes_next_serial(c);
	code->counted = py_code_bytes(code);
	c->kept.codes += code->counted + n;
	return true;
}

static int give(struct py_code *like, const struct rec_code *rec, struct py_code **ret)
{
	*ret = py_code_like(like, rec);
	return *ret ? 0 : -ENOMEM;
}

int same_code(struct collect *c, const struct rec_code *rec, size_t n, unsigned version,
	      struct py_code **ret)
{
	struct content content;
	/*
	 * a record with .self_obj lacks the name of the code's class, which has to be read from the
	 * process, so its content isn't compared
	 */
	size_t bytes = rec->self_obj ? 0 : take_content(rec, n, version, &content);
	uint64_t hash = bytes ? XXH3_64bits(&content, bytes) : 0;
	const struct kept_content *k = bytes ? find(c->same, &content, bytes, hash) : NULL;
	int r;

	if (k)
		return give(k->code, rec, ret);
	r = py_code_from_record(rec, n, version, ret);
	if (r || !bytes || !was_seen(c->same, hash) || !py_code_is_settled(*ret) ||
	    collect_is_full(c) || !keep(c, &content, bytes, hash, *ret))
		return r;
	return give(*ret, rec, ret);
}
