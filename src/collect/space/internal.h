/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share. */
#ifndef COLLECT_SPACE_INTERNAL_H
#define COLLECT_SPACE_INTERNAL_H

#include "collect/space/space.h"

/*
 * space.c: keeps @s as the latest reading of @p's mappings, and takes ownership of @s if it returns
 * 0.
 */
_must_use_ int space_keep(struct collect *c, struct process *p, struct space *s);
void space_free(struct space *s);

#endif
