/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the name of the module whose body (top-level code) a code object is: __name__ in the dict
 * that the body runs in. Everything is read from the live process, maybe some time after the body
 * ran; so the dict's __file__ must also be the code object's file. After an import the code object
 * is gone, and the dict may belong to another run of the same file. In that case the module's name
 * must fit the file.
 *
 * Also finds the number of a notebook's cell. ipykernel calls the cell's file
 * /tmp/ipykernel_PID/HASH.py. IPython's shell object knows the number, and the dict that cells run
 * in has a method of that object (get_ipython).
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "proc/read/reader.h"
#include "python/code/code.h"
#include "python/heap/heap.h"
#include "python/heap/text.h"

#define BUDGET	     (4ull << 20)
#define MODULE_BYTES 512 /* the most bytes of a module's name */

static int read_item(struct heap *h, const heap_items *items, const char *key, struct str *ret)
{
	uint64_t value = heap_find(h, items, key);

	return value ? heap_str(h, value, ret) : -ENOENT;
}

/* Tells whether @file is "<frozen NAME>" of module @name: "<frozen os>" belongs to os. */
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

/*
 * Is @file the path /...NAME.py or /...NAME/__init__.py of the module @name, with a folder for each
 * dot of the name?
 */
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
 * Checks that the module's name @name fits the code's file. The name needn't fit if the code object
 * still exists. Only since 3.12 an equal check (abi/check.h) proves that the code object still
 * exists: in older versions, if the same file is imported under another name, the second module's
 * body has an equal check, and may have the same address.
 */
static int check_name(const struct py_code *code, struct heap *h, const char *name)
{
	if (is_name_of(code->file, name))
		return 0;
	return h->l->code_version ? py_code_check_same(code, h) : -ENOENT;
}

/*
 * the most bytes of a notebook cell's file name, which is the longest key that heap_find() can look
 * for
 */
#define CELL_BYTES 64

/*
 * Returns the last part of @file, by which a notebook cell is known; NULL: @file isn't a notebook
 * cell's.
 */
static const char *cell_part(const char *file)
{
	const char *slash = strrchr(file, '/'), *begin = slash;

	while (begin && begin > file && begin[-1] >= '0' && begin[-1] <= '9')
		begin--;
	return begin && begin != slash && begin - file > (ptrdiff_t)strlen("/ipykernel_") &&
			       !strncmp(begin - strlen("/ipykernel_"), "/ipykernel_",
					strlen("/ipykernel_")) &&
			       str_ends(slash, ".py")
		       ? slash + 1
		       : NULL;
}

struct question {
	struct py_layout layout;
	size_t n;
	struct {
		uint64_t globals;
		/* the notebook cell's file; "": the code isn't a notebook cell's */
		char cell[CELL_BYTES + 1];
	} of[PY_BODIES];
};

/*
 * The answer of the child process that reads memory: __name__ and __file__ of a module; "": the
 * module has none.
 */
struct answer {
	char name[MODULE_BYTES], file[PATH_MAX];
	uint64_t cell; /* number of the notebook cell; 0: not known */
};

static void put(struct heap *h, const heap_items *items, const char *key, char *ret, size_t most)
{
	_cleanup_str_ struct str text = {};

	if (!read_item(h, items, key, &text) && text.n < most)
		memcpy(ret, str_cstr(&text), text.n + 1);
}

/*
 * Reads a cell's number, get_ipython.__self__.compile._filename_map[@file] of IPython 8 and 9; 0:
 * not known.
 */
static uint64_t find_cell(struct heap *h, const heap_items *globals, const char *file)
{
	uint64_t method = heap_find(h, globals, "get_ipython"), number = 0;
	/* im_self comes after im_func in a PyMethodObject */
	uint64_t shell = method ? heap_ptr(h, method + h->head + sizeof(uint64_t)) : 0;
	uint64_t compile = shell ? heap_attr(h, shell, "compile") : 0;
	uint64_t cells = compile ? heap_attr(h, compile, "_filename_map") : 0;
	uint64_t found = cells ? heap_dict_find(h, cells, file) : 0;

	return found && heap_int(h, found, &number) ? number : 0;
}

static void find_one(struct heap *h, uint64_t globals, const char *cell, struct answer *ret)
{
	heap_items items = {};

	*ret->name = *ret->file = '\0';
	ret->cell = 0;
	h->budget = BUDGET;
	if (!heap_dict(h, globals, &items)) {
		put(h, &items, "__name__", ret->name, sizeof(ret->name));
		put(h, &items, "__file__", ret->file, sizeof(ret->file));
		if (*cell)
			ret->cell = find_cell(h, &items, cell);
	}
	vec_fini(&items);
}

/*
 * Finds the modules of code objects. A reader_task (proc/read/reader.h), which runs in the child
 * process that reads memory.
 */
static ssize_t find_all(pid_t pid, void *bytes, size_t most)
{
	_cleanup_free_ struct heap_pages *pages = heap_pages_new();
	const struct question q = *(const struct question *)bytes;
	struct answer *a = bytes;
	struct heap h;

	heap_init(&h, pid, &q.layout);
	h.pages = pages;
	for (size_t i = 0; i < q.n; i++)
		find_one(&h, q.of[i].globals, q.of[i].cell, &a[i]);
	return (ssize_t)(q.n * sizeof(*a));
}

/*
 * Tells whether the code was compiled from a text at run time, and so has a file name such as
 * <string>.
 */
static bool is_made(const struct py_code *code)
{
	return code->file[0] == '<' && str_ends(code->file, ">") &&
	       !str_starts(code->file, "<frozen ");
}

bool py_code_is_settled(const struct py_code *code)
{
	return !code->missing && code->name && code->file && !is_made(code) &&
	       !cell_part(code->file);
}

/*
 * Sets .file of a notebook's cell to a name such as "/tmp/ipykernel_7/In [3]" (cell 3). The folder
 * tells apart cells with the same number in two notebooks.
 */
static int set_cell(struct py_code *code, uint64_t number)
{
	_cleanup_str_ struct str file = {};
	const char *cell = cell_part(code->file);

	str_add_n(&file, code->file, (size_t)(cell - code->file));
	str_addf(&file, "In [%llu]", (unsigned long long)number);
	if (file.failed)
		return -ENOMEM;
	free(code->file);
	code->file = str_take(&file);
	return 0;
}

static int set_made_in(struct py_code *code, const char *name, const char *file)
{
	if (*file != '/' || (!streq(name, "__main__") && !is_name_of(file, name)))
		return 0;
	code->made_in = strdup(file);
	return code->made_in ? 0 : -ENOMEM;
}

static int set_module(struct py_code *code, pid_t pid, const struct py_layout *layout,
		      const struct answer *a)
{
	struct heap h;

	if (cell_part(code->file))
		return a->cell ? set_cell(code, a->cell) : 0;
	if (is_made(code))
		return set_made_in(code, a->name, a->file);
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
	return code->name && code->file &&
	       (streq(code->name, "<module>") || is_made(code) || cell_part(code->file)) &&
	       heap_is_known(layout->version);
}

/*
 * Appends text @w, whose bytes begin at *p, to @ret, and sets *p to the end of the text. False: the
 * text isn't complete.
 */
static bool take_text(const struct wire_text *w, const uint8_t **p, const uint8_t *end,
		      struct str *ret)
{
	size_t padded = WIRE_PADDED(w->bytes);
	bool whole = w->bytes == text_raw_bytes(w) && padded <= (size_t)(end - *p) &&
		     !text_to_utf8(w, *p, w->bytes, ret);

	*p += whole ? padded : 0;
	return whole && !ret->failed;
}

/*
 * Returns the struct rec_module that follows the texts of @rec; NULL: the record is too short, or
 * doesn't name a module.
 */
static const struct rec_module *module_in(const struct rec_code *rec, size_t n)
{
	size_t at = sizeof(*rec);

	if (n < at || !rec->has_module)
		return NULL;
	for (int i = 0; i < CODE_TEXT_MAX; i++)
		at += WIRE_PADDED(rec->text[i].bytes);
	return at + sizeof(struct rec_module) <= n
		       ? (const struct rec_module *)((const uint8_t *)rec + at)
		       : NULL;
}

/*
 * The record has the module's name as it was when the record was made. But on 3.11, if the file
 * runs again as another module, the new code object may have the same address and an equal check.
 * Then the kernel program sends no record of it. So the module's name must fit the file.
 */
bool py_code_take_module(struct py_code *code, const struct rec_code *rec, size_t n)
{
	const struct rec_module *module = module_in(rec, n);
	const uint8_t *p = module ? (const uint8_t *)(module + 1) : NULL;
	const uint8_t *end = (const uint8_t *)rec + n;
	_cleanup_str_ struct str name = {}, file = {};

	if (!module || !code->name || !code->file || cell_part(code->file) ||
	    !take_text(&module->text[MODULE_NAME], &p, end, &name) ||
	    !take_text(&module->text[MODULE_FILE], &p, end, &file) || !name.n ||
	    name.n >= MODULE_BYTES || file.n >= PATH_MAX)
		return false;
	if (is_made(code))
		return !set_made_in(code, str_cstr(&name), str_cstr(&file));
	if (streq(code->name, "<module>") && is_module_of(code, str_cstr(&name), str_cstr(&file)) &&
	    (rec->version || is_name_of(code->file, str_cstr(&name))))
		code->module = str_take(&name);
	return true;
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

	for (size_t i = 0; i < u.q.n; i++) {
		const char *file = bodies[i].code->file;

		u.q.of[i].globals = bodies[i].globals;
		if (cell_part(file) && strlen(file) <= CELL_BYTES)
			strcpy(u.q.of[i].cell, file);
	}
	got = reader_run(pid, -1, find_all, &u, sizeof(u.q), sizeof(u.a));
	if (got < 0)
		return (int)got;
	for (size_t i = 0; !r && i < (size_t)got / sizeof(u.a[0]); i++)
		r = set_module(bodies[i].code, pid, layout, &u.a[i]);
	return r;
}
