/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache of what was found at addresses in files. The stacks of a program differ in few of their
 * frames, so each address is looked up once, until another address takes its entry in this table.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "collect/native/native.h"

#define ENTRIES 4096u

struct known_places {
	struct known_native at[ENTRIES];
};

bool known_natives_init(struct collect *c)
{
	return (c->natives->known = calloc(1, sizeof(struct known_places)));
}

void known_natives_forget(struct collect *c)
{
	memset(c->natives->known, 0, sizeof(*c->natives->known));
}

struct known_native *known_native(struct collect *c, uint32_t file, uint64_t vaddr)
{
	size_t slot = (check_mix(file, vaddr) >> 32) % ENTRIES;
	struct known_native *k = &c->natives->known->at[slot];

	if (k->file != file || k->vaddr != vaddr)
		*k = (struct known_native){.vaddr = vaddr, .file = file};
	return k;
}
