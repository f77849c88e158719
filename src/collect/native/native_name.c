/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the names of code in a file, and which functions matter for merging stacks. */
#include <string.h>

#include "base/system/far.h"
#include "collect/native/native.h"
#include "symbol/elf/elf_names.h"
#include "symbol/elf/function_parts.h"
#include "symbol/elf/greenlet.h"
#include "symbol/pytables/machinery.h"
#include "symbol/pytables/method_names.h"

/* Finds the function around @vaddr by the file's unwind information. NULL: there is none. */
static const struct unwind_fde *find_fde(const struct native_file *f, uint64_t vaddr)
{
	return unwind_fde_find(f->fdes.v, f->fdes.n, vaddr - f->base);
}

/* Returns where the piece of code around @vaddr begins. This code belongs to no known function. */
static uint64_t gap_start(const struct native_file *f, uint64_t vaddr)
{
	size_t i = count_upto(f->fdes.v, f->fdes.n, end, vaddr - f->base);

	return !f->fdes.n ? vaddr : f->base + (i ? f->fdes.v[i - 1].end : 0);
}

/*
 * Returns the function of which @fde is a part; @fde itself if it isn't a part of another function.
 */
static const struct unwind_fde *whole_of(const struct native_file *f, const struct unwind_fde *fde)
{
	uint64_t start = fde && f->parts ? function_parts_find(f->parts, f->base + fde->start) : 0;

	return start ? find_fde(f, start) : fde;
}

/*
 * Returns the name that Python code uses for the function; NULL: there is none, or C code also
 * calls the function. A function that C code also calls, such as PyObject_Repr, keeps its own name.
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

/* Reads @n bytes of the file's code at @vaddr; false: the file doesn't have them. */
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
 * with exit(main(...)): after the call of main() come mov %eax,%edi and call exit. @vaddr: the
 * return address of main(), or the byte before it.
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
