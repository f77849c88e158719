/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What frames were found to be. A program's stacks differ in few of their frames: each is looked up once, as long as
 * nothing else takes its place in these tables.
 */
#include <stdlib.h>

#include "check.h"
#include "collect/internal.h"

#define ENTRIES 4096u

struct known {
	struct known_native native[ENTRIES];
	struct known_python python[ENTRIES];
};

struct known *known_new(void)
{
	return calloc(1, sizeof(struct known));
}

void known_forget(struct collect *c)
{
	memset(c->known, 0, sizeof(*c->known));
}

static size_t slot_of(uint64_t which, uint64_t place)
{
	return (check_mix(which, place) >> 32) % ENTRIES;
}

struct known_native *known_native(struct collect *c, const struct native_file *f, uint64_t vaddr)
{
	struct known_native *k = &c->known->native[slot_of(f->index, vaddr)];

	if (k->file != f->index || k->vaddr != vaddr)
		*k = (struct known_native){.vaddr = vaddr, .file = f->index};
	return k;
}

struct known_python *known_python(struct collect *c, const struct py_code *code, int lasti)
{
	struct known_python *k = &c->known->python[slot_of(code->serial, (uint32_t)lasti)];

	if (k->code != code->serial || k->lasti != lasti)
		*k = (struct known_python){.code = code->serial, .lasti = lasti};
	return k;
}
