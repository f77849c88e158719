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
	size_t n;
	uint64_t globals[PY_BODIES];
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

static void find_one(struct heap *h, uint64_t globals, struct answer *ret)
{
	heap_items items = {};

	*ret->name = *ret->file = '\0';
	h->budget = BUDGET;
	if (!heap_dict(h, globals, &items)) {
		put(h, &items, "__name__", ret->name, sizeof(ret->name));
		put(h, &items, "__file__", ret->file, sizeof(ret->file));
	}
	vec_fini(&items);
}

/* A reader_task. */
static ssize_t find_all(pid_t pid, void *bytes, size_t most)
{
	_cleanup_free_ struct heap_pages *pages = heap_pages_new();
	const struct question q = *(const struct question *)bytes;
	struct answer *a = bytes;
	struct heap h;

	heap_init(&h, pid, &q.layout);
	h.pages = pages;
	for (size_t i = 0; i < q.n; i++)
		find_one(&h, q.globals[i], &a[i]);
	return (ssize_t)(q.n * sizeof(*a));
}

/* Made from a text at run time: <string>. */
static bool is_made(const struct py_code *code)
{
	return code->file[0] == '<' && str_ends(code->file, ">") &&
	       !str_starts(code->file, "<frozen ");
}

static int set_module(struct py_code *code, pid_t pid, const struct py_layout *layout,
		      const struct answer *a)
{
	struct heap h;

	if (is_made(code)) {
		if (*a->file != '/' ||
		    (!streq(a->name, "__main__") && !is_name_of(a->file, a->name)))
			return 0;
		code->made_in = strdup(a->file);
		return code->made_in ? 0 : -ENOMEM;
	}
	if (!*a->name || !is_module_of(code, a->name, a->file))
		return 0;
	heap_init(&h, pid, layout);
	h.budget = BUDGET;
	if (check_name(code, &h, a->name))
		return 0;
	code->module = strdup(a->name);
	return code->module ? 0 : -ENOMEM;
}

bool py_code_has_module(const struct py_code *code, const struct py_layout *layout)
{
	return code->name && code->file && (streq(code->name, "<module>") || is_made(code)) &&
	       heap_is_known(layout->version);
}

int py_code_find_modules(const struct py_body *bodies, size_t n, pid_t pid,
			 const struct py_layout *layout)
{
	union {
		struct question q;
		struct answer a[PY_BODIES];
	} u = {.q = {.layout = *layout, .n = MIN(n, (size_t)PY_BODIES)}};
	ssize_t got;
	int r = 0;

	for (size_t i = 0; i < u.q.n; i++)
		u.q.globals[i] = bodies[i].globals;
	got = reader_run(pid, find_all, &u, sizeof(u.q), sizeof(u.a));
	if (got < 0)
		return (int)got;
	for (size_t i = 0; !r && i < (size_t)got / sizeof(u.a[0]); i++)
		r = set_module(bodies[i].code, pid, layout, &u.a[i]);
	return r;
}
