/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores source text that was read from processes' memory; see texts.h. */
#include "dump/facts/texts.h"

#include <stdlib.h>
#include <string.h>

enum {
	MOST_TEXTS = 4096, /* the most texts that are stored: a process could name any number */
	MOST_BYTES = 8 << 20,
};

static struct dump_text *find(const struct dump_texts *x, uint32_t tgid, const char *path)
{
	vec_foreach(t, &x->list)
		if (t->tgid == tgid && streq(t->path, path))
			return t;
	return NULL;
}

static void text_fini(struct dump_text *t)
{
	free(t->path);
	free(t->name);
	str_fini(&t->text);
}

bool dump_texts_wants(void *texts, uint32_t tgid, uint64_t start_boot_ns, const char *name,
		      const char *path)
{
	struct dump_texts *x = texts;
	struct dump_text *known = find(x, tgid, path), t = {.tgid = tgid};

	if (known) {
		known->several |= !streq(known->name, name);
		return false;
	}
	if (x->list.n >= MOST_TEXTS || x->bytes >= MOST_BYTES)
		return false;
	t.path = strdup(path);
	t.name = strdup(name);
	if (t.path && t.name && !vec_push(&x->list, t))
		return true;
	text_fini(&t);
	return false;
}

void dump_texts_met(void *texts, uint32_t tgid, const char *path, const struct str *text)
{
	struct dump_texts *x = texts;
	struct dump_text *t = find(x, tgid, path);

	if (!t || t->text.n)
		return;
	str_add_n(&t->text, text->s, text->n);
	x->bytes += t->text.n;
}

const struct str *dump_texts_find(const struct dump_texts *x, uint32_t tgid, const char *path)
{
	const struct dump_text *t = find(x, tgid, path);

	return t && !t->several && t->text.n && !t->text.failed ? &t->text : NULL;
}

void dump_texts_fini(struct dump_texts *x)
{
	vec_foreach(t, &x->list)
		text_fini(t);
	vec_fini(&x->list);
}
