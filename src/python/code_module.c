/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the module is called whose body a code object is: __name__ in the dict that it runs in. Everything
 * is read from the live process, maybe later than it ran: the dict must say the code object's file too. When the import
 * is over the code object has gone, and the dict may be that of another run of the file: then the name
 * must be the file's.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "proc/reader.h"
#include "python/code.h"
#include "python/heap.h"

#define BUDGET	     (4ull << 20)
#define MODULE_BYTES 512 /* of a name */

static int read_item(struct heap *h, const heap_items *items, const char *key, struct str *ret)
{
	uint64_t value = heap_find(h, items, key);

	return value ? heap_str(h, value, ret) : -ENOENT;
}

/* "<frozen os>" is os. */
static bool is_frozen(const char *file, const char *name)
{
	size_t n = strlen(name);

	return str_starts(file, "<frozen ") && !strncmp(file + strlen("<frozen "), name, n) &&
	       streq(file + strlen("<frozen ") + n, ">");
}

static bool is_module_of(const struct py_code *code, const char *name, const char *file)
{
	return is_frozen(code->file, name) || streq(file, code->file);
}

/* Is the file /...NAME.py or /...NAME/__init__.py, each dot of the name being a folder? */
static bool is_name_of(const char *file, const char *name)
{
	size_t n = strlen(file), k = strlen(name);

	if (is_frozen(file, name))
		return true;
	if (str_ends(file, "/__init__.py"))
		n -= strlen("/__init__.py");
	else if (str_ends(file, ".py"))
		n -= strlen(".py");
	else
		return false;
	if (k >= n || file[n - k - 1] != '/')
		return false;
	for (size_t i = 0; i < k; i++)
		if (file[n - k + i] != (name[i] == '.' ? '/' : name[i]))
			return false;
	return true;
}

/*
 * That the code object is the same says more than its contents only from 3.12 on: before, the file's body that is
 * imported under another name next has an equal check, maybe at the same address.
 */
static int check_name(const struct py_code *code, struct heap *h, const char *name)
{
	if (is_name_of(code->file, name))
		return 0;
	return h->l->code_version ? py_code_check_same(code, h) : -ENOENT;
}

struct question {
	struct py_layout layout;
	uint64_t globals;
};

/* __name__ and __file__ of a module, "" if there is none. */
struct answer {
	char name[MODULE_BYTES], file[PATH_MAX];
};

static void put(struct heap *h, const heap_items *items, const char *key, char *ret, size_t most)
{
	_cleanup_str_ struct str text = {};

	if (!read_item(h, items, key, &text) && text.n < most)
		memcpy(ret, str_cstr(&text), text.n + 1);
}

/* A reader_task. */
static ssize_t find_module(pid_t pid, void *bytes, size_t most)
{
	_cleanup_free_ struct heap_pages *pages = heap_pages_new();
	const struct question q = *(const struct question *)bytes;
	struct answer *a = bytes;
	heap_items items = {};
	struct heap h;
	int r;

	memset(a, 0, sizeof(*a));
	heap_init(&h, pid, &q.layout);
	h.budget = BUDGET;
	h.pages = pages;
	r = heap_dict(&h, q.globals, &items);
	if (!r) {
		put(&h, &items, "__name__", a->name, sizeof(a->name));
		put(&h, &items, "__file__", a->file, sizeof(a->file));
	}
	vec_fini(&items);
	return r ? r : (ssize_t)sizeof(*a);
}

int py_code_find_module(struct py_code *code, pid_t pid, const struct py_layout *layout,
			uint64_t globals)
{
	union {
		struct question q;
		struct answer a;
	} u = {.q = {*layout, globals}};
	struct heap h;
	ssize_t got;
	int r;

	if (!code->name || !code->file || !streq(code->name, "<module>") ||
	    !heap_is_known(layout->version))
		return 0;
	got = reader_run(pid, find_module, &u, sizeof(u.q), sizeof(u.a));
	if (got < 0)
		return (int)got;
	if (!*u.a.name || !is_module_of(code, u.a.name, u.a.file))
		return 0;
	heap_init(&h, pid, layout);
	h.budget = BUDGET;
	r = check_name(code, &h, u.a.name);
	if (r)
		return r == -ENOENT ? 0 : r;
	code->module = strdup(u.a.name);
	return code->module ? 1 : -ENOMEM;
}
