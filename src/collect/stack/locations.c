/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the profile's locations of native code: of files, of the kernel, and of code that lies in
 * no file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/stack/stack.h"
#include "elf/dwarf_file.h"
#include "symbol/demangle/demangle.h"
#include "symbol/madecode/numba_name.h"
#include "symbol/pytables/machinery.h"

#define MAX_INLINED 64 /* the most functions at one address that are inlined into each other */

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
	 * A name that begins with a module, as Cython's symbols do, is shown in place of @called.
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
 * Adds a location for each function that DWARF has at @loc->address. The outermost function comes
 * first; the other functions were inlined into it. The outermost function has the name of the
 * file's symbol. Returns the location of the innermost function; 0: DWARF knows no function.
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

static uint32_t make_file_location(struct collect *c, struct native_file *f, uint64_t vaddr)
{
	const struct native_name name = native_file_name(f, vaddr);
	struct profile_function fn = {};
	struct profile_location loc = {.mapping = mapping_of(c, f, &name), .address = vaddr};
	uint32_t id = f->lines && !c->hurried ? line_location(c, f, &name, &loc) : 0;

	c->stats.unlined += f->lines && c->hurried;
	if (id)
		return id;
	/*
	 * No lines are known for the address. So all addresses in the function share one location,
	 * which has the address where the function begins.
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
		known->location = make_file_location(c, f, vaddr);
	return known->location;
}

/*
 * Makes the location of a kernel address, which lies in no file. Its mapping is "[kernel]", or
 * "[kernel MODULE]" if the address is in a module.
 */
static uint32_t make_kernel_location(struct collect *c, uint64_t pc, const char *symbol,
				     const char *module)
{
	const uint64_t address = kernel_shown_address(c, pc);
	struct profile_function fn = {};
	struct profile_mapping mapping = {.kind = KIND_KERNEL};
	char text[80];

	snprintf(text, sizeof(text), *module ? "[kernel %.64s]" : "[kernel]", module);
	mapping.name = profile_string(c->profile, text);
	snprintf(text, sizeof(text), address ? "[kernel+0x%llx]" : "[kernel]",
		 (unsigned long long)address);
	fn.name = profile_string(c->profile, symbol ? symbol : text);
	return profile_location(
		c->profile,
		&(struct profile_location){.mapping = profile_mapping(c->profile, &mapping),
					   .function = profile_function(c->profile, &fn),
					   .address = address});
}

uint32_t kernel_location(struct collect *c, uint64_t pc)
{
	struct known_native *k = known_native(c, KNOWN_KERNEL, pc);
	const char *module = "", *symbol;
	uint32_t location;

	if (k->location)
		return k->location;
	symbol = kernel_name(c, pc, &module);
	location = make_kernel_location(c, pc, symbol, module);
	if (symbol) /* as long as no symbol was found, the name is looked up again */
		k->location = location;
	return location;
}

/*
 * Makes the location of code made at run time. The code's address isn't written into the profile,
 * because other people may read it.
 */
static uint32_t make_made_location(struct collect *c, const char *name, const char *symbol,
				   uint64_t offset)
{
	struct profile_mapping mapping = {.name = profile_string(c->profile, "[jit]"),
					  .kind = KIND_JIT};
	struct profile_function fn = {.name = profile_string(c->profile, name),
				      .system_name =
					      symbol ? profile_string(c->profile, symbol) : 0};

	return profile_location(
		c->profile,
		&(struct profile_location){.mapping = profile_mapping(c->profile, &mapping),
					   .function = profile_function(c->profile, &fn),
					   .address = offset});
}

uint32_t made_location(struct collect *c, const struct made_name *name, uint64_t offset)
{
	_cleanup_free_ char *numba = name->symbol ? numba_name(name->symbol) : NULL;
	_cleanup_free_ char *demangled =
		name->symbol && !numba ? symbol_demangle(name->symbol, NULL) : NULL;

	return make_made_location(c, numba ?: demangled ?: name->symbol ?: name->text, name->symbol,
			   offset);
}

uint32_t unknown_code_location(struct collect *c, uint64_t offset)
{
	struct profile_mapping mapping = {.name = profile_string(c->profile, "[unknown]"),
					  .kind = KIND_NATIVE};
	struct profile_function fn = {.name = profile_string(c->profile, "[unknown code]")};

	return profile_location(
		c->profile,
		&(struct profile_location){.mapping = profile_mapping(c->profile, &mapping),
					   .function = profile_function(c->profile, &fn),
					   .address = offset});
}
