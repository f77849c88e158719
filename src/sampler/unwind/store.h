/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data by which the kernel program unwinds, in its maps: tables of unwind rows (how to find the
 * caller; one table for each file), the rules to which rows refer, and the mappings of each
 * process. Chunks of 4 KiB come from slabs (BPF maps), which are made when they are needed, up to a
 * limit. A chunk that was given back is used again only when no program can be reading it any more.
 */
#ifndef SAMPLER_UNWIND_STORE_H
#define SAMPLER_UNWIND_STORE_H

#include "base/util.h"
#include "unwind/rows/rows.h"

struct unwind_store;

#define UNWIND_KEEP_SECONDS 10

/* Descriptors of the maps `slabs`, `unwind_tables`, `unwind_rules`, `spaces`; borrowed. */
struct unwind_store_maps {
	int slabs, tables, rules, spaces;
};

/*
 * Returns how many slabs (BPF maps of chunks) fit into @bytes of memory, together with the other
 * maps. The map `slabs` has this many entries.
 */
uint32_t unwind_store_slabs(size_t bytes);

/* Opens the store. @slabs: what unwind_store_slabs() returned. 0 or -errno + message. */
_must_use_ int unwind_store_open(struct unwind_store **ret, const struct unwind_store_maps *maps,
				 uint32_t slabs);
void unwind_store_close(struct unwind_store *s);

/*
 * Gets the number of a new, empty table. Until the table is filled, unwinding stops in the code of
 * its file. 0; -ENOSPC: there are too many tables.
 */
_must_use_ int unwind_store_new_table(struct unwind_store *s, uint32_t *ret);

/*
 * Empties a table that no mapping refers to any more. Its number is used again once no program can
 * know it.
 */
void unwind_store_free_table(struct unwind_store *s, uint32_t table);

/*
 * Fills table @table with @rows. Rows of the functions @eval are marked as those of the evaluation
 * loop. Until that is done, rows that @table had before stay in use, if there is room for both, the
 * old tree is as deep as the new one, and neither tree is guarded (valid only as long as the code's
 * bytes stay the same). Tables with the same rows share memory. If there is no room, tables that no
 * sample has used for UNWIND_KEEP_SECONDS are emptied, longest unused first. -ENOSPC: all other
 * tables are needed; -EFBIG: @rows need more chunks than there can ever be; or another -errno; each
 * with a message. After an error @table is empty. Any thread may call this function while other
 * threads use the store, and they don't have to wait long for it.
 */
_must_use_ int unwind_store_fill(struct unwind_store *s, uint32_t table,
				 const struct unwind_rows *rows, const struct unwind_fde *eval,
				 size_t n_eval);

/*
 * Returns the number of a table that was emptied to make room, each such table once; 0: there is
 * none left.
 */
uint32_t unwind_store_given_up(struct unwind_store *s);

/*
 * Returns the present time, in seconds, on the clock by which the kernel program notes when it used
 * a table.
 */
uint32_t unwind_store_epoch(void);

/* Gets a slot for the mappings of a process. 0; -ENOSPC: there are too many processes. */
_must_use_ int unwind_store_new_space(struct unwind_store *s, uint32_t *slot);
void unwind_store_free_space(struct unwind_store *s, uint32_t slot);

/* Returns how often executable memory was unmapped in the process of @slot. */
uint64_t unwind_store_unmaps(const struct unwind_store *s, uint32_t slot);

/*
 * Replaces the mappings in @slot. The caller has set .owner_*, .read_ns, .at_unmaps (from before
 * the mappings were read) and .version (not 0, different each time) of @head; this function sets
 * the other members. @m is ascending; mappings beyond SPACE_CHUNKS * SPACE_MAPPINGS are left out.
 * 0 or -errno + message.
 */
_must_use_ int unwind_store_set_space(struct unwind_store *s, uint32_t slot,
				      const struct unwind_space *head,
				      const struct unwind_mapping *m, size_t n);

/*
 * Tells the kernel program that krait begins (@begins) to read the mappings of the process in
 * @slot, or has stopped. During that time the kernel program doesn't know what is mapped where, so
 * it counts each new mapping whose address the kernel chooses as an unmapping.
 */
void unwind_store_read_space(struct unwind_store *s, uint32_t slot, bool begins);

/*
 * Tells the kernel program that the mappings in @slot are valid as long as .unmaps equals
 * @at_unmaps.
 */
void unwind_store_allow_space(struct unwind_store *s, uint32_t slot, uint64_t at_unmaps);

/*
 * These functions are for walks in user space. Between unwind_store_begin_reading() and
 * unwind_store_end_reading() other threads can't change the store, and the functions below may be
 * called. A chunk is valid until the next chunk is read, a table until unwind_store_end_reading().
 * If no chunk, table or rule has @number, NULL is returned. unwind_store_space() copies the
 * mappings in @slot; false: they aren't those of process @tgid, or aren't valid any more.
 */
_must_use_ bool unwind_store_begin_reading(struct unwind_store *s); /* false: out of memory */
void unwind_store_end_reading(struct unwind_store *s);
const struct unwind_chunk *unwind_store_chunk(struct unwind_store *s, uint32_t number);
struct unwind_table *unwind_store_table(struct unwind_store *s, uint32_t number);
const struct unwind_rule *unwind_store_rule(const struct unwind_store *s, uint32_t number);
bool unwind_store_space(const struct unwind_store *s, uint32_t slot, uint32_t tgid,
			struct unwind_space *ret);

/* Returns how many bytes of memory the slabs (BPF maps with rows and mappings) take. */
size_t unwind_store_bytes(struct unwind_store *s);

#endif
