/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache of the profile locations of Python frames. A program's stacks differ in few of their
 * frames, so each frame is looked up once, until another frame takes its entry in this table.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "collect/stack/stack.h"

#define ENTRIES 4096u

struct known_frames {
	struct known_python at[ENTRIES];
};

bool known_init(struct collect *c)
{
	return (c->stacks->known = calloc(1, sizeof(struct known_frames)));
}

void known_forget(struct collect *c)
{
	memset(c->stacks->known, 0, sizeof(*c->stacks->known));
}

struct known_python *known_python(struct collect *c, const struct py_code *code, int lasti)
{
	size_t slot = (check_mix(code->serial, (uint32_t)lasti) >> 32) % ENTRIES;
	struct known_python *k = &c->stacks->known->at[slot];

	if (k->code != code->serial || k->lasti != lasti)
		*k = (struct known_python){.code = code->serial, .lasti = lasti};
	return k;
}
