/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of a file's code, and which of its functions matter for merging stacks. */
#include <stdlib.h>
#include <string.h>

#include "base/far.h"
#include "collect/native/native.h"
#include "elf/dwarf_file.h"
#include "symbol/elf/demangle.h"
#include "symbol/elf/elf_names.h"
#include "symbol/elf/function_parts.h"
#include "symbol/elf/greenlet.h"
#include "symbol/pytables/machinery.h"
#include "symbol/pytables/method_names.h"

#define MAX_INLINED 64 /* the most functions that are inlined into each other at one address */

/* Finds the function around @vaddr by the file's unwind information; NULL: none. */
static const struct unwind_fde *find_fde(const struct native_file *f, uint64_t vaddr)
{
	return unwind_fde_find(f->fdes.v, f->fdes.n, vaddr - f->base);
}

/* Returns where the code around @vaddr begins, which belongs to no known function. */
static uint64_t gap_start(const struct native_file *f, uint64_t vaddr)
{
	size_t i = count_upto(f->fdes.v, f->fdes.n, end, vaddr - f->base);

	return !f->fdes.n ? vaddr : f->base + (i ? f->fdes.v[i - 1].end : 0);
}

/* The whole function that @fde is a part of; @fde if it isn't a part. */
static const struct unwind_fde *whole_of(const struct native_file *f, const struct unwind_fde *fde)
{
	uint64_t start = fde && f->parts ? function_parts_find(f->parts, f->base + fde->start) : 0;

	return start ? find_fde(f, start) : fde;
}

/*
 * The function's name in Python code; NULL: none. A function that C code calls, too, keeps its own
 * name, such as PyObject_Repr.
 */
static const char *called(const struct native_file *f, const struct unwind_fde *fde,
			  const char *symbol)
{
	if (!fde || str_starts(symbol, "Py") || str_starts(symbol, "_Py"))
		return NULL;
	return method_names_method(f->methods, f->base + fde->start);
}

struct native_name native_file_name(struct native_file *f, uint64_t vaddr)
{
	const struct unwind_fde *own = find_fde(f, vaddr), *fde = whole_of(f, own);
	uint64_t at = fde != own ? f->base + fde->start : vaddr;
	struct native_name ret = {.start = fde ? f->base + fde->start : gap_start(f, vaddr)};
	struct elf_range range;
	struct elf_name name;

	if (fde)
		range = (struct elf_range){f->base + fde->start, f->base + fde->end};
	if (f->names && elf_names_find(f->names, at, fde ? &range : NULL, &name))
		ret = (struct native_name){.text = name.name,
					   .symbol = true,
					   .called = called(f, fde, name.name),
					   .start = vaddr};
	else if (fde && f->methods)
		ret.text = method_names_find(f->methods, ret.start);
	return ret;
}

/*
 * Sets @fn's .name and .system_name from a symbol of the file. @called: the function's name in
 * Python code; NULL: none.
 */
static void name_function(struct collect *c, const char *symbol, const char *called,
			  struct profile_function *fn)
{
	enum symbol_language language;
	_cleanup_free_ char *shown = symbol_demangle(symbol, &language);

	/*
	 * A symbol that Cython made has its module's name in front; it stays the name that is
	 * shown.
	 */
	if (called && shown && language <= LANGUAGE_C && !strchr(shown, '.')) {
		free(shown);
		shown = strdup(called);
	}
	fn->name = profile_string(c->profile, shown ? shown : symbol);
	fn->system_name = profile_string(c->profile, symbol);
}

static uint32_t mapping_of(struct collect *c, const struct native_file *f,
			   const struct native_name *name)
{
	struct profile_mapping gc = {.kind = KIND_GC};

	if (!name->text || !f->interpreter || !machinery_is_gc(name->text))
		return f->mapping;
	gc.name = profile_string(c->profile, "[gc]");
	return profile_mapping(c->profile, &gc);
}

/*
 * Adds the functions at @loc->address that DWARF knows, the outermost first; the others were
 * inlined into it. The outermost has the name of the file's symbol. Returns the location of the
 * innermost one; 0: DWARF knows none.
 */
static uint32_t line_location(struct collect *c, struct native_file *f,
			      const struct native_name *name, struct profile_location *loc)
{
	struct dwarf_call calls[MAX_INLINED];
	size_t n = dwarf_file_find(f->lines, loc->address, calls, ARRAY_SIZE(calls));

	loc->outer = 0;
	for (size_t i = n; i-- > 0;) {
		bool whole = i + 1 == n && name->symbol;
		const char *symbol = whole ? name->text : calls[i].function;
		struct profile_function fn = {};

		if (!symbol)
			return loc->outer;
		name_function(c, symbol, whole ? name->called : NULL, &fn);
		fn.file = profile_string(c->profile, calls[i].file ? calls[i].file : "");
		loc->function = profile_function(c->profile, &fn);
		loc->line = (int32_t)MIN(calls[i].line, (uint32_t)INT32_MAX);
		loc->outer = profile_location(c->profile, loc);
	}
	return loc->outer;
}

/* Reads bytes of the file's code; false: the file doesn't have so many. */
static bool read_code(const struct native_file *f, uint64_t vaddr, uint8_t *bytes, size_t n)
{
	vec_foreach(l, &f->loads)
		if (vaddr >= l->vaddr && vaddr - l->vaddr < l->filesz &&
		    n <= l->filesz - (vaddr - l->vaddr))
			return far_pread(f->fd, bytes, n,
					 (off_t)(l->offset + (vaddr - l->vaddr))) == (ssize_t)n;
	return false;
}

/*
 * musl has no unwind tables, so nothing says how to unwind libc_start_main_stage2(). But it ends
 * with exit(main(...)): after the call of main() come mov %eax,%edi and call exit. @vaddr: where
 * main() returns to, or the byte before.
 */
bool native_file_called_main(const struct native_file *f, uint64_t vaddr)
{
	uint8_t code[8];
	int32_t distance;

	if (!f->exit || f->fd < 0 || !read_code(f, vaddr, code, sizeof(code)))
		return false;
	for (size_t i = 0; i < 2; i++) {
		if (memcmp(code + i, "\x89\xc7\xe8", 3))
			continue;
		if (!read_code(f, vaddr + i + 3, (uint8_t *)&distance, sizeof(distance)))
			return false;
		return vaddr + i + 7 + (uint64_t)(int64_t)distance == f->exit;
	}
	return false;
}

static uint8_t find_what_it_is(struct native_file *f, uint64_t vaddr)
{
	const char *name = native_file_name(f, vaddr).text;
	unsigned is = IS_KNOWN;

	if (f->interpreter && !name)
		is |= IS_NAMELESS;
	else if (f->interpreter)
		is |= (machinery_is(name) ? IS_MACHINERY : 0) |
		      (machinery_is_eval(name, 2) ? IS_EVAL_2 : 0) |
		      (machinery_is_eval(name, 3) ? IS_EVAL_3 : 0);
	is |= (greenlet_is_start(f->path, name) ? IS_GREENLET_START : 0) |
	      (greenlet_is_switch(f->path, name) ? IS_GREENLET_SWITCH : 0) |
	      (greenlet_is_exposing(f->path, name) ? IS_GREENLET_EXPOSING : 0);
	return (uint8_t)is;
}

uint8_t native_file_is(struct collect *c, struct native_file *f, uint64_t vaddr)
{
	struct known_native *known = known_native(c, f->index, vaddr);

	f->used_at = c->flushes;
	if (!known->is)
		known->is = find_what_it_is(f, vaddr);
	return known->is;
}

static uint32_t make_location(struct collect *c, struct native_file *f, uint64_t vaddr)
{
	const struct native_name name = native_file_name(f, vaddr);
	struct profile_function fn = {};
	struct profile_location loc = {.mapping = mapping_of(c, f, &name), .address = vaddr};
	uint32_t id = f->lines && !c->hurried ? line_location(c, f, &name, &loc) : 0;

	c->stats.unlined += f->lines && c->hurried;
	if (id)
		return id;
	/*
	 * Without a symbol: the function's beginning is its address, so that all its samples have
	 * one location.
	 */
	loc = (struct profile_location){.mapping = loc.mapping, .address = name.start};
	if (!name.text)
		return profile_location(c->profile, &loc);
	if (name.symbol)
		name_function(c, name.text, name.called, &fn);
	else
		fn.name = profile_string(c->profile, name.text);
	loc.function = profile_function(c->profile, &fn);
	return profile_location(c->profile, &loc);
}

uint32_t native_file_location(struct collect *c, struct native_file *f, uint64_t vaddr)
{
	struct known_native *known = known_native(c, f->index, vaddr);

	if (!known->location)
		known->location = make_location(c, f, vaddr);
	return known->location;
}
