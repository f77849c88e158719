/* SPDX-License-Identifier: BSD-2-Clause */
/* The store of unwind rows as a whole, and the rules to which all tables refer; see store.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "sampler/unwind/internal.h"

static uint64_t rule_key(const struct unwind_rule *r)
{
	uint64_t word[2];

	memcpy(word, r, sizeof(word));
	return word[0] * 0x9e3779b97f4a7c15ull ^ (word[1] * 0xc2b2ae3d27d4eb4full >> 1) ^
	       word[1] << 1;
}

int unwind_store_open(struct unwind_store **ret, const struct unwind_store_maps *maps,
		      uint32_t slabs)
{
	struct unwind_store *s = calloc(1, sizeof(*s));
	const struct unwind_rule none = {};

	if (!s)
		return err_sys(-ENOMEM, "can't make unwind tables");
	s->maps = *maps;
	s->max_slabs = slabs;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->supply, NULL);
	s->shared = mmap(NULL, UNWIND_MAX_SPACES * sizeof(*s->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED, maps->spaces, 0);
	if (s->shared == MAP_FAILED) {
		free(s);
		return err_sys(-errno, "can't map the table of mappings");
	}
	/*
	 * Takes number 0 of tables, spaces (mappings of a process) and rules, because 0 means
	 * "none". Rule 0 is UNWIND_UNKNOWN.
	 */
	if (vec_reserve(&s->slabs, slabs) || vec_push(&s->tables, NULL) ||
	    vec_push(&s->spaces, (struct space){}) || vec_push(&s->rules, none) ||
	    map_put(&s->rule_index, rule_key(&none), 0)) {
		unwind_store_close(s);
		return err_sys(-ENOMEM, "can't make unwind tables");
	}
	*ret = s;
	return 0;
}

void unwind_store_close(struct unwind_store *s)
{
	if (!s)
		return;
	munmap(s->shared, UNWIND_MAX_SPACES * sizeof(*s->shared));
	vec_foreach(fd, &s->slabs)
		close(*fd);
	for (uint32_t i = 0; i < s->tables.n; i++)
		unwind_table_forget(s, i);
	vec_fini(&s->slabs);
	vec_fini(&s->free);
	vec_fini(&s->limbo);
	vec_fini(&s->tables);
	vec_fini(&s->given_up);
	vec_fini(&s->free_tables);
	vec_fini(&s->limbo_tables);
	vec_fini(&s->spaces);
	vec_fini(&s->free_spaces);
	vec_fini(&s->rules);
	map_fini(&s->rule_index);
	free(s->reading);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->supply);
	free(s);
}

/* Returns the number of @rule in the kernel's map. */
static int number_rule(struct unwind_store *s, const struct unwind_rule *rule, uint32_t *ret)
{
	uint64_t key = rule_key(rule), *known;
	int r;

	for (; (known = map_get(&s->rule_index, key)); key++) {
		if (memcmp(&s->rules.v[*known], rule, sizeof(*rule)))
			continue;
		*ret = *known;
		return 0;
	}
	if (s->rules.n >= UNWIND_MAX_KERNEL_RULES)
		return -ENOSPC;
	*ret = s->rules.n;
	r = unwind_put(s->maps.rules, *ret, rule);
	r = r ? r : map_put(&s->rule_index, key, *ret);
	return r ? r : vec_push(&s->rules, *rule);
}

int unwind_number_rules(struct unwind_store *s, const struct unwind_rows *rows, uint32_t **ret)
{
	_cleanup_free_ uint32_t *number = calloc(rows->rules.n + 1, sizeof(*number));
	int r = number ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < rows->rules.n; i++)
		r = number_rule(s, &rows->rules.v[i], &number[i]);
	if (!r)
		*ret = TAKE_PTR(number);
	return r;
}

uint32_t unwind_store_epoch(void)
{
	return (uint32_t)(clock_ns(CLOCK_MONOTONIC) / NSEC_PER_SEC);
}
