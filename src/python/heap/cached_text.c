/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads source text from linecache.cache: {file: (size, mtime, lines, name)}; see cached_text.h. */
#include "python/heap/cached_text.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "proc/read/reader.h"
#include "python/heap/heap.h"
#include "python/heap/text.h"

enum {
	INTERPRETERS = 64,
	FILE_BYTES = 64, /* length of the longest key that heap_find() can look for */
	LINES = 1 << 14,
	LINE_BYTES = 1 << 16,
	BUDGET = 8 << 20,
};

#define LIST_FLAG  25 /* number of the type flag Py_TPFLAGS_LIST_SUBCLASS */
#define TUPLE_FLAG 26
/* number of items of an entry, which is a tuple; a lazy entry (3.5+) has one item */
#define ITEMS 4

struct question {
	struct py_layout layout;
	struct py_where where;
	char file[FILE_BYTES + 1];
};

bool py_text_may_be_cached(const char *file)
{
	size_t n = strlen(file);

	if (n > FILE_BYTES)
		return false;
	if (*file == '<')
		return file[n - 1] == '>' && !streq(file, "<string>") &&
		       !str_starts(file, "<frozen ");
	return strstr(file, "/ipykernel_") && str_ends(file, ".py");
}

static bool is_kind(struct heap *h, uint64_t obj, unsigned flag)
{
	uint64_t type = obj ? heap_ptr(h, obj + h->l->ob_type) : 0;

	return type && heap_type_field(h, type, TYPE_FLAGS) >> flag & 1;
}

/* Returns the address of the list of lines that linecache.cache has of a file; 0: there is none. */
static uint64_t find_lines(struct heap *h, uint64_t interp, const char *file)
{
	uint64_t cache = heap_module_find(h, interp, "linecache", "cache"), items[ITEMS];
	uint64_t entry = cache ? heap_dict_find(h, cache, file) : 0;

	/* in a tuple, PyVarObject.ob_size comes right after the header */
	if (!is_kind(h, entry, TUPLE_FLAG) || heap_ptr(h, entry + h->head) != ITEMS ||
	    heap_read(h, entry + h->l->tuple_items, items, sizeof(items)))
		return 0;
	return is_kind(h, items[2], LIST_FLAG) ? items[2] : 0;
}

static int add_line(struct heap *h, uint64_t line, uint8_t raw[static LINE_BYTES], struct str *ret)
{
	uint64_t type = line ? heap_ptr(h, line + h->l->ob_type) : 0, data, hash;
	struct wire_text w;
	int r;

	/* the object is a str if its type has the same flag that is_str() in heap.c tests */
	if (!type || !(heap_type_field(h, type, TYPE_FLAGS) >> (h->l->str_state ? 28 : 27) & 1))
		return -EINVAL;
	r = heap_str_head(h, line, false, &w, &data, &hash);
	if (!r && text_raw_bytes(&w) > LINE_BYTES)
		r = -E2BIG;
	r = r ? r : heap_read(h, data, raw, text_raw_bytes(&w));
	return r ? r : text_add_line(&w, raw, text_raw_bytes(&w), ret);
}

/* Appends the lines in the PyListObject (ob_size, ob_item) at @list to @ret. */
static int add_lines(struct heap *h, uint64_t list, struct str *ret)
{
	_cleanup_free_ uint8_t *raw = malloc(LINE_BYTES);
	_cleanup_free_ uint64_t *lines = NULL;
	uint64_t head[2];
	int r = heap_read(h, list + h->head, head, sizeof(head));

	if (!r && head[0] > LINES)
		r = -E2BIG;
	lines = r ? NULL : calloc(head[0] + 1, sizeof(*lines));
	if (!raw || !lines)
		return r ? r : -ENOMEM;
	r = heap_read(h, head[1], lines, head[0] * sizeof(*lines));
	for (uint64_t i = 0; !r && i < head[0]; i++) {
		r = add_line(h, lines[i], raw, ret);
		if (!r && ret->n > READER_TASK_BYTES)
			r = -E2BIG;
	}
	return r;
}

static int find_text(struct heap *h, const struct question *q, struct str *ret)
{
	uint64_t interp = heap_ptr(h, q->where.interp_head), lines = 0;

	for (int i = 0; interp && !lines && i < INTERPRETERS; i++) {
		lines = find_lines(h, interp, q->file);
		interp = heap_ptr(h, interp + h->l->interp_next);
	}
	return lines ? add_lines(h, lines, ret) : -ENOENT;
}

/*
 * Finds the source text. A reader_task (proc/read/reader.h), which runs in the child process that
 * reads memory.
 */
static ssize_t find(pid_t pid, void *bytes, size_t most)
{
	_cleanup_free_ struct heap_pages *pages = heap_pages_new();
	const struct question q = *(const struct question *)bytes;
	_cleanup_str_ struct str text = {};
	struct heap h;
	int r;

	heap_init(&h, pid, &q.layout);
	h.budget = BUDGET;
	h.pages = pages;
	r = find_text(&h, &q, &text);
	if (!r && (text.failed || text.n > most))
		r = text.failed ? -ENOMEM : -E2BIG;
	if (r)
		return r;
	memcpy(bytes, str_cstr(&text), text.n);
	return (ssize_t)text.n;
}

int py_cached_text(pid_t pid, const struct py_layout *layout, const struct py_where *where,
		   const char *file, struct str *ret)
{
	_cleanup_free_ uint8_t *bytes = malloc(READER_TASK_BYTES);
	struct question *q = (struct question *)bytes;
	ssize_t n;

	if (!heap_is_known(layout->version) || !layout->interp_modules || !where->interp_head)
		return -ENOTSUP;
	if (!bytes)
		return -ENOMEM;
	if (strlen(file) > FILE_BYTES)
		return -ENOENT;
	*q = (struct question){.layout = *layout, .where = *where};
	strcpy(q->file, file);
	n = reader_run(pid, -1, find, bytes, sizeof(*q), READER_TASK_BYTES);
	if (n < 0)
		return (int)n;
	str_add_n(ret, (const char *)bytes, (size_t)n);
	return ret->failed ? -ENOMEM : 0;
}
