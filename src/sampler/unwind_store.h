/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel program unwinds with, in its maps: tables of rows (one per file), the rules they
 * name, what each process has mapped. Chunks of 4 KiB come from slabs that are made when they are
 * needed, up to a cap. What is given back is used again only when no program can still be reading it.
 */
#ifndef SAMPLER_UNWIND_STORE_H
#define SAMPLER_UNWIND_STORE_H

#include "base/util.h"
#include "unwind/rows/rows.h"

struct unwind_store;

#define UNWIND_KEEP_SECONDS 10

/* Descriptors of the maps `slabs`, `unwind_tables`, `unwind_rules` and `spaces` (borrowed). */
struct unwind_store_maps {
	int slabs, tables, rules, spaces;
};

/* Slabs that fit into @bytes of memory beside the other maps: the size of map `slabs`. */
uint32_t unwind_store_slabs(size_t bytes);

/* @slabs as given by unwind_store_slabs(). 0 or -errno + message. */
_must_use_ int unwind_store_open(struct unwind_store **ret, const struct unwind_store_maps *maps,
				 uint32_t slabs);
void unwind_store_close(struct unwind_store *s);

/* Number of a new, empty table: unwinding stops there until it is filled. -ENOSPC: too many. */
_must_use_ int unwind_store_new_table(struct unwind_store *s, uint32_t *ret);

/* Empties a table that no mapping names any more. Its number is used again when no program can know it. */
void unwind_store_free_table(struct unwind_store *s, uint32_t table);

/*
 * Fills table @table with @rows, whose rows of code [from, to) in @eval (keys) are marked as the
 * evaluation loop's. Tables with the same rows take the memory of one. Where there is no room, tables that no sample has looked into for
 * UNWIND_KEEP_SECONDS are emptied for it, the longest first. -ENOSPC: all others are needed; -EFBIG:
 * more than there ever is; -errno: with a message. @table is empty then. May be called by a thread, beside all
 * others: they don't wait for what takes long.
 */
_must_use_ int unwind_store_fill(struct unwind_store *s, uint32_t table,
				 const struct unwind_rows *rows, const struct unwind_fde *eval,
				 size_t n_eval);

/* The number of a table that was emptied to make room, each once; 0 = no more. */
uint32_t unwind_store_given_up(struct unwind_store *s);

/* The time by which the kernel program notes that it looks into a table, seconds. */
uint32_t unwind_store_epoch(void);

/* A slot for a process's mappings. -ENOSPC: too many processes. */
_must_use_ int unwind_store_new_space(struct unwind_store *s, uint32_t *slot);
void unwind_store_free_space(struct unwind_store *s, uint32_t slot);

/* How often something was unmapped there so far. */
uint64_t unwind_store_unmaps(const struct unwind_store *s, uint32_t slot);

/*
 * Replaces the mappings in @slot. @head: .owner_*, .read_ns, .at_unmaps (as before the mappings were
 * read) and .version (not 0, different each time); the rest is filled in. @m ascending; those beyond
 * SPACE_CHUNKS * SPACE_MAPPINGS are left out. 0 or -errno + message.
 */
_must_use_ int unwind_store_set_space(struct unwind_store *s, uint32_t slot,
				      const struct unwind_space *head,
				      const struct unwind_mapping *m, size_t n);

/*
 * The mappings of the process of @slot are being read: until they are set, the kernel program doesn't know what lies where,
 * and counts each new mapping whose place the kernel chooses as something unmapped.
 */
void unwind_store_read_space(struct unwind_store *s, uint32_t slot, bool begins);

/* The mappings in @slot still hold, as long as no more was unmapped than @at_unmaps says. */
void unwind_store_allow_space(struct unwind_store *s, uint32_t slot, uint64_t at_unmaps);

/* Memory in slabs, bytes. */
size_t unwind_store_bytes(struct unwind_store *s);

#endif
