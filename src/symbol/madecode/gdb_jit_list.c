/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows gdb's list of registered files. The process may change the list while krait reads it, so
 * krait reads the address of the next entry twice.
 */
#include <elf.h>

#include "base/cleanup.h"
#include "symbol/madecode/gdb_jit_reading.h"

/*
 * Reads the list entry at @at and its file into .file, which the reader owns. If none of the file's
 * memory has changed, takes the file over from the earlier reading @before.
 */
static int read_entry(struct reader *rd, uint64_t at, const struct gdb_jit *before)
{
	const uint64_t *i = map_get(&rd->known, at);
	struct file *known = i ? before->files.v[*i - 1] : NULL;

	if (known && known->is_same && known->bytes <= rd->left) {
		rd->left -= known->bytes;
		known->refs++;
		jit_file_put(rd->file);
		rd->file = known;
		return 0;
	}
	jit_file_put(rd->file); /* frees the file in .file if it wasn't added to the list */
	rd->file = calloc(1, sizeof(*rd->file));
	if (!rd->file)
		return -ENOMEM;
	rd->file->refs = 1;
	return jit_file_read(rd, at);
}

/* Adds the file in .file, which has been read, to the list of files. */
static int keep_file(struct reader *rd)
{
	struct file *f = rd->file;
	int r = vec_push(&rd->jit->files, f);

	if (r)
		return r;
	rd->file = NULL;
	f->is_malformed = !f->is_named && !rd->cut;
	return 0;
}

/* Reads the list entry at @at into @ret and keeps its file. -ENOBUFS: a limit is reached. */
static int take_entry(struct reader *rd, uint64_t at, const struct gdb_jit *before,
		      struct entry *ret)
{
	int r;

	if (rd->jit->files.n >= GDB_JIT_FILES_MAX || rd->left < sizeof(Elf64_Ehdr) || rd->cut) {
		rd->jit->stats.dropped++;
		return -ENOBUFS;
	}
	r = read_entry(rd, at, before);
	if (r)
		return r;
	*ret = rd->file->entry;
	return keep_file(rd);
}

/*
 * Drops the file that was kept last, because its entry isn't in the list. If the list leads to the
 * entry later, it is read again.
 */
static void give_back_last(struct reader *rd)
{
	struct file *f = rd->jit->files.v[--rd->jit->files.n];

	rd->left += f->bytes;
	jit_file_put(f);
}

bool jit_is_behind(const struct reader *rd, uint64_t descriptor, uint64_t prev, uint64_t at,
		   struct entry *e)
{
	struct descriptor d;
	struct entry before;

	if (e->prev == prev)
		return true;
	if (rd->peek(rd->arg, at, e, sizeof(*e)))
		return false;
	if (e->prev == prev)
		return true;
	if (e->prev)
		return !rd->peek(rd->arg, e->prev, &before, sizeof(before)) && before.next == at;
	return !rd->peek(rd->arg, descriptor, &d, sizeof(d)) && d.first == at;
}

/*
 * Follows the list from @first on. Skips entries that were seen before, but at most @passes of
 * them: if there are more, the list counts as circular, and the result is -EPROTO.
 */
static int follow_list(struct reader *rd, uint64_t at, uint64_t first, const struct gdb_jit *before,
		       unsigned passes)
{
	uint64_t entry, prev = 0;
	int r = 0;

	for (entry = first; !r && entry;) {
		struct entry e = {};
		bool seen = map_get(&rd->seen, entry);

		if (seen && !passes--)
			return -EPROTO;
		r = seen ? rd->peek(rd->arg, entry, &e, sizeof(e))
			 : take_entry(rd, entry, before, &e);
		if (!r && !jit_is_behind(rd, at, prev, entry, &e)) {
			r = -EPROTO;
			if (!seen)
				give_back_last(rd);
		}
		if (!r && !seen)
			r = map_put(&rd->seen, entry, rd->jit->files.n);
		prev = entry;
		entry = e.next;
	}
	return r;
}

static bool is_changing(int r)
{
	return r == -EPROTO || r == -EFAULT || r == -EIO;
}

/*
 * Reads the list of the descriptor at @at. If the process changes an entry while it is read, or has
 * changed the list meanwhile, follows the list again from its beginning.
 */
static int read_list(struct reader *rd, uint64_t at, const struct gdb_jit *before)
{
	struct known_descriptor d = {.at = at};
	struct descriptor now, last;
	int r = rd->peek(rd->arg, at, &d.was, sizeof(d.was));

	if (!r && d.was.version != 1)
		r = -EPROTO;
	r = r ? r : vec_push(&rd->jit->descriptors, d);
	if (r)
		return r;
	r = follow_list(rd, at, d.was.first, before, 0);
	for (int i = 0; is_changing(r) && i < TRIES_MOST; i++) {
		if (rd->peek(rd->arg, at, &now, sizeof(now)) ||
		    (i && !memcmp(&now, &last, sizeof(now))))
			break;
		last = now;
		r = follow_list(rd, at, now.first, before, TURNS_MOST);
	}
	return r == -ENOBUFS ? 0 : r;
}

int jit_read_lists(struct reader *rd, const uint64_t *at, size_t n, const struct gdb_jit *before)
{
	int first = 0;

	for (size_t i = 0; i < n; i++) {
		int r = read_list(rd, at[i], before);

		if (r && !is_changing(r))
			return r;
		first = first ? first : r;
	}
	return first;
}

bool gdb_jit_looks_same(const struct gdb_jit *j, gdb_jit_peek *peek, void *arg)
{
	vec_foreach(d, &j->descriptors) {
		struct descriptor now;

		if (peek(arg, d->at, &now, sizeof(now)) || memcmp(&now, &d->was, sizeof(now)))
			return false;
	}
	return true;
}
