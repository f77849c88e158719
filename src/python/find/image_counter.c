/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where CPython counts the code objects it makes (Objects/codeobject.c, init_code()). 3.12: a variable
 * of its own, known by a symbol that isn't exported. From 3.13 on in PyInterpreterState: struct
 * _py_func_state {uint32_t next_version; func_version_cache[4096]}, and no debug offset says where; but
 * the main interpreter is the last member of _PyRuntime and lies in initialised data, where the
 * counter is known by what the file has there: its first value, then the empty cache of 64 KiB.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "python/find/image_internal.h"

#define INTERP_MAX  (1u << 20) /* 250 KiB in 3.15 */
#define CACHE_WORDS (4096 * 16 / 4)

void image_counter_symbol(struct image_ctx *c)
{
	const char *const name = "_Py_next_func_version";
	struct elf_symbol sym = {};

	elf_file_find_in(c->elf, false, &name, &sym, 1);
	c->image->where.codes_made = sym.value;
}

/* 1 in 3.13, FUNC_VERSION_FIRST_VALID (2) from 3.14 on. */
static bool is_first_version(uint32_t word)
{
	return word == 1 || word == 2;
}

/* Index of the word that is followed by the cache; 0 = none is, or more than one may be. */
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
