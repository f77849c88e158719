/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the module is called whose body a code object is: __name__ in the dict that it runs in. Everything
 * is read from the live process, maybe later than it ran: the dict must say the code object's file too. When the import
 * is over the code object has gone, and the dict may be that of another run of the file: then the name
 * must be the file's.
 */
#include <errno.h>
#include <stdlib.h>

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

static bool is_module_of(struct heap *h, const heap_items *items, const struct py_code *code,
			 const char *name)
{
	_cleanup_str_ struct str file = {};

	if (is_frozen(code->file, name))
		return true;
	return !read_item(h, items, "__file__", &file) && streq(str_cstr(&file), code->file);
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

int py_code_find_module(struct py_code *code, pid_t pid, const struct py_layout *layout,
			uint64_t globals)
{
	_cleanup_str_ struct str name = {};
	heap_items items = {};
	struct heap h;
	int r;

	if (!code->name || !code->file || !streq(code->name, "<module>"))
		return 0;
	heap_init(&h, pid, layout);
	h.budget = BUDGET;
	if (!h.known)
		return 0;
	r = heap_dict(&h, globals, &items);
	r = r ? r : read_item(&h, &items, "__name__", &name);
	if (!r && name.n && name.n < MODULE_BYTES &&
	    is_module_of(&h, &items, code, str_cstr(&name)))
		r = check_name(code, &h, str_cstr(&name));
	else
		r = r ? r : -ENOENT;
	vec_fini(&items);
	if (r)
		return r == -ENOENT ? 0 : r;
	code->module = str_take(&name);
	return code->module ? 1 : -ENOMEM;
}
