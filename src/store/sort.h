/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts rows in order by a number that each has, which is that of a table's definition, so small. */
#ifndef STORE_SORT_H
#define STORE_SORT_H

#include "base/util.h"

/*
 * *ret, heap: the rows' indices by ascending key, rows of one key in their order. The key of row i
 * is at @keys + i * @stride bytes. Takes memory for the largest key. 0 or -ENOMEM + message.
 */
_must_use_ int sort_rows(const uint32_t *keys, size_t stride, size_t n, uint32_t **ret);

#endif
