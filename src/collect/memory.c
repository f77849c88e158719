/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the memory of a recording within its limit. If the profile and the code objects are too
 * large, the profile is condensed: what is rare is summed up (record/bound.c). If names (of files
 * and of code made at run time) take too much, krait frees the names that weren't used for the
 * longest time. If that isn't enough, krait also frees the threads' tables of label sets.
 */
#include "base/system/log.h"
#include "collect/internal.h"
#include "collect/thread/thread.h"
#include "elf/dwarf_file.h"
#include "symbol/elf/elf_names.h"
#include "symbol/elf/function_parts.h"
#include "symbol/pytables/method_names.h"

static size_t names_bytes(const struct native_file *f)
{
	return (f->names ? elf_names_bytes(f->names) : 0) +
	       (f->methods ? method_names_bytes(f->methods) : 0) +
	       (f->parts ? function_parts_bytes(f->parts) : 0) +
	       (f->lines ? dwarf_file_bytes(f->lines) : 0);
}

/* Frees the names of a file. When a stack needs these names, they are read again. */
static void give_up_names(struct collect *c, struct native_file *f)
{
	log_info("%s: names of its functions were dropped to make room for other names: %zu KiB",
		 f->path, names_bytes(f) >> 10);
	c->kept.names -= names_bytes(f);
	elf_names_free(TAKE_PTR(f->names));
	method_names_free(TAKE_PTR(f->methods));
	function_parts_free(TAKE_PTR(f->parts));
	dwarf_file_free(TAKE_PTR(f->lines));
	f->named = NAMES_NONE;
	c->stats.names_given_up++;
}

/*
 * Returns the file whose names were used longest ago, and not in this collect_flush(); NULL: there
 * is none.
 */
static struct native_file *find_oldest(const struct collect *c)
{
	struct native_file *oldest = NULL;

	vec_foreach(at, &c->natives->files) {
		struct native_file *f = *at;

		if (f->named == NAMES_TRIED && names_bytes(f) && f->used_at < c->flushes &&
		    (!oldest || f->used_at < oldest->used_at))
			oldest = f;
	}
	return oldest;
}

/*
 * How often the bytes of names are counted. Counting in each collect_flush() would take 3 % of what
 * a recording of the whole machine costs if many processes begin.
 */
#define COUNT_APART_NS (NSEC_PER_SEC / 4)

static void count(struct collect *c)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now < c->kept.due_ns && collect_kept_bytes(c) <= memory_for_names(c))
		return;
	c->kept.due_ns = now + COUNT_APART_NS;
	c->kept.names = c->kept.rows = c->kept.lists = 0;
	vec_foreach(at, &c->natives->files) {
		c->kept.names += (*at)->named == NAMES_TRIED ? names_bytes(*at) : 0;
		c->kept.rows += (*at)->fdes.cap * sizeof(*(*at)->fdes.v);
	}
	vec_foreach(i, &c->processes->live)
		c->kept.lists += made_bytes(process_at(c, *i));
}

void memory_keep_to(struct collect *c)
{
	struct native_file *f;
	size_t n;

	c->kept.waiting = c->intake->waiting.n * sizeof(*c->intake->waiting.v) +
			  c->intake->accounts.n * sizeof(*c->intake->accounts.v);
	count(c);
	while (collect_kept_bytes(c) > memory_for_names(c) && (f = find_oldest(c)))
		give_up_names(c, f);
	while (collect_kept_bytes(c) > memory_for_names(c) && (n = made_give_up(c)))
		c->kept.lists -= n;
	if (collect_kept_bytes(c) > memory_for_names(c))
		threads_forget_sets(c);
}
