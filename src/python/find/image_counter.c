/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the variable in which CPython counts the code objects that it makes (Objects/codeobject.c,
 * init_code()). In 3.12 the variable has a symbol, which isn't exported. Since 3.13 the variable is
 * in PyInterpreterState, in struct _py_func_state {uint32_t next_version;
 * func_version_cache[4096]}, and the debug offsets don't have its offset. But the main interpreter
 * is the last member of _PyRuntime and lies in initialised data. There the counter is recognized by
 * its contents in the file: its first value, followed by the empty cache of 64 KiB.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "python/find/image_internal.h"

#define INTERP_MAX  (1u << 20) /* the most bytes of a PyInterpreterState; 3.15's has 250 KiB */
#define CACHE_WORDS (4096 * 16 / 4)

void image_counter_symbol(struct image_ctx *c)
{
	const char *const name = "_Py_next_func_version";
	struct elf_symbol sym = {};

	elf_file_find_in(c->elf, false, &name, &sym, 1);
	c->image->where.codes_made = sym.value;
}

/*
 * Is @word the version with which CPython begins to count? That is 1 in 3.13, and
 * FUNC_VERSION_FIRST_VALID (2) since 3.14.
 */
static bool is_first_version(uint32_t word)
{
	return word == 1 || word == 2;
}

/*
 * Returns the index of the counter, which is the word before the empty cache; 0: no word can be the
 * counter, or several words can be it.
 */
static size_t find_counter(const uint32_t *words, size_t n)
{
	size_t zeros = 0, found = 0;

	for (size_t i = 1; i < n; i++) {
		zeros = words[i] ? 0 : zeros + 1;
		if (zeros != CACHE_WORDS || !is_first_version(words[i - CACHE_WORDS]))
			continue;
		if (found)
			return 0;
		found = i - CACHE_WORDS;
	}
	return found;
}

void image_counter_value(struct image_ctx *c, const struct py_debug_offsets *d)
{
	_cleanup_free_ uint32_t *words = NULL;
	uint64_t interp = c->runtime + d->runtime_size - d->interp_size;
	size_t at;

	if (d->interp_size >= d->runtime_size || d->interp_size > INTERP_MAX)
		return;
	words = malloc(d->interp_size);
	if (!words || elf_file_read(c->elf, interp, words, d->interp_size) != d->interp_size)
		return;
	at = find_counter(words, d->interp_size / sizeof(*words));
	if (at)
		c->image->where.codes_made = interp + at * sizeof(*words);
}
