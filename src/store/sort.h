/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorts rows by a key that is the number of a definition, such as a node's location. Such numbers
 * are small, so counting how many rows have each is faster than comparing.
 */
#ifndef STORE_SORT_H
#define STORE_SORT_H

#include "base/util.h"

/*
 * *ret, heap: the rows' indices by ascending key, rows of one key in their order. The key of row i
 * is at @keys + i * @stride bytes. Takes memory for the largest key. 0 or -ENOMEM + message.
 */
_must_use_ int sort_rows(const uint32_t *keys, size_t stride, size_t n, uint32_t **ret);

#endif
