/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorts rows by a key that is the number of a definition, such as a node's location. Such numbers
 * are small, so it is faster to count the rows of each key than to compare keys.
 */
#ifndef STORE_SORT_H
#define STORE_SORT_H

#include "base/util.h"

/*
 * Sets *ret (heap) to the indices of the rows by ascending key; rows with the same key stay in
 * their order. The key of row i is at @keys + i * @stride bytes. Needs memory in proportion to the
 * largest key. 0 or -ENOMEM + message.
 */
_must_use_ int sort_rows(const uint32_t *keys, size_t stride, size_t n, uint32_t **ret);

#endif
