/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which files of gdb's list haven't changed. When a reading begins, files of the previous
 * reading are checked: those that haven't changed needn't be read again. When a reading ends, its
 * own files are checked, because the process may have changed them while they were read. The memory
 * of many files is compared in one request.
 */
#include <sys/uio.h>

#include "base/cleanup.h"
#include "symbol/madecode/gdb_jit_reading.h"

/* how many pieces of memory one request reads again; a file with more pieces counts as changed */
#define PIECES_MOST 64
/* the most bytes that one request reads; the largest table of sections has fewer */
#define BATCH_BYTES (320u << 10)

struct batch {
	struct iovec pieces[PIECES_MOST];
	struct file *files[PIECES_MOST];
	size_t n_pieces, n_files, bytes;
	uint8_t *buf;
};

static size_t ranges_of(const struct file *f, bool head)
{
	return head ? f->n_head : f->ranges.n;
}

static int peek_batch(struct reader *rd, struct batch *b)
{
	uint8_t *to = b->buf;
	int r = 0;

	if (rd->pieces && b->n_pieces > 1)
		return rd->pieces(rd->arg, b->pieces, b->n_pieces, b->buf, b->bytes);
	for (size_t i = 0; !r && i < b->n_pieces; i++) {
		r = rd->peek(rd->arg, (uintptr_t)b->pieces[i].iov_base, to, b->pieces[i].iov_len);
		to += b->pieces[i].iov_len;
	}
	return r;
}

static void check_file(struct file *f, bool head, const uint8_t **bytes)
{
	uint64_t now = 0;

	for (size_t i = 0; i < ranges_of(f, head); i++) {
		now = jit_hash(now, *bytes, f->ranges.v[i].n);
		*bytes += f->ranges.v[i].n;
	}
	f->is_same = now == (head ? f->head_hash : f->hash);
}

static void add_to_batch(struct batch *b, struct file *f, bool head)
{
	for (size_t i = 0; i < ranges_of(f, head); i++) {
		const struct range *range = &f->ranges.v[i];

		b->pieces[b->n_pieces++] = (struct iovec){(void *)(uintptr_t)range->at, range->n};
		b->bytes += range->n;
	}
	b->files[b->n_files++] = f;
}

/*
 * Charges the thread's slice of work (base/work/slice.h) for work that isn't for a particular file.
 * False: the slice is used up.
 */
static bool spend_beside(struct reader *rd, uint64_t work)
{
	bool left = slice_spend(work);

	rd->cut |= !left;
	return left;
}

/*
 * Checks all files of the batch in one request. If a part of their memory can't be read, checks
 * each file by itself. For whole files (@head is false), these checks are charged to the thread's
 * slice of work (base/work/slice.h) as if the files were read again, because there may be many such
 * checks.
 */
static void check_batch(struct reader *rd, struct batch *b, bool head)
{
	const uint8_t *bytes = b->buf;
	struct file *files[PIECES_MOST];
	size_t n = b->n_files;
	bool paid = head || n > 1 || spend_beside(rd, WORK_PEEK + b->bytes);
	bool came = b->n_pieces && paid && !peek_batch(rd, b);

	memcpy(files, b->files, sizeof(files));
	for (size_t i = 0; i < n; i++)
		files[i]->is_same = false;
	for (size_t i = 0; came && i < n; i++)
		check_file(files[i], head, &bytes);
	b->n_pieces = b->n_files = b->bytes = 0;
	for (size_t i = 0; !came && n > 1 && i < n; i++) {
		add_to_batch(b, files[i], head);
		check_batch(rd, b, head);
	}
}

static uint64_t bytes_of(const struct file *f, bool head)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ranges_of(f, head); i++)
		sum += f->ranges.v[i].n;
	return sum;
}

/*
 * Sets .is_same of each file: has the memory that was read for the file (@head: only for its list
 * entry and its headers) still the same contents? 0 or -ENOMEM.
 */
static int check_files(struct reader *rd, const struct gdb_jit *j, bool head)
{
	_cleanup_free_ uint8_t *buf = malloc(BATCH_BYTES);
	struct batch b = {.buf = buf};

	if (!buf)
		return -ENOMEM;
	vec_foreach(at, &j->files) {
		uint64_t bytes = bytes_of(*at, head);

		(*at)->is_same = false;
		if ((!head && (*at)->part) || ranges_of(*at, head) > PIECES_MOST ||
		    bytes > BATCH_BYTES)
			continue;
		if (b.n_pieces + ranges_of(*at, head) > PIECES_MOST ||
		    b.bytes + bytes > BATCH_BYTES)
			check_batch(rd, &b, head);
		add_to_batch(&b, *at, head);
	}
	if (b.n_files)
		check_batch(rd, &b, head);
	return 0;
}

/*
 * Are all entries of the list and all descriptors as they were? An entry that was removed or
 * replaced during the reading leads to the sections of another file.
 */
static bool is_unchanged(struct reader *rd)
{
	vec_foreach(f, &rd->jit->files)
		if (!(*f)->is_same)
			return false;
	return gdb_jit_looks_same(rd->jit, rd->peek, rd->arg);
}

/*
 * Reads the list entries of all files as they are now. An entry that can't be read becomes all
 * zero.
 */
static void read_entries(struct reader *rd, struct entry *ret)
{
	size_t n = rd->jit->files.n, some;

	for (size_t i = 0; i < n; i += some) {
		struct iovec pieces[PIECES_MOST];

		some = MIN(n - i, (size_t)PIECES_MOST);
		for (size_t k = 0; k < some; k++)
			pieces[k] = (struct iovec){(void *)(uintptr_t)rd->jit->files.v[i + k]->at,
						   sizeof(*ret)};
		if (rd->pieces && !rd->pieces(rd->arg, pieces, some, ret + i, some * sizeof(*ret)))
			continue;
		for (size_t k = i; k < i + some; k++)
			if (rd->peek(rd->arg, rd->jit->files.v[k]->at, &ret[k], sizeof(*ret)))
				ret[k] = (struct entry){};
	}
}

/*
 * Is @f still the same file, though its entry may be at another place in the list now? @e: its
 * current entry.
 */
static bool is_same_file(struct reader *rd, const struct file *f, struct entry e)
{
	uint64_t now;

	if (f->is_same || e.file != f->entry.file || e.size != f->entry.size)
		return f->is_same;
	now = jit_hash(0, &f->entry, sizeof(f->entry));
	for (size_t i = 1; i < f->n_head; i++) {
		const struct range *range = &f->ranges.v[i];
		_cleanup_free_ void *block = NULL;

		if (!spend_beside(rd, WORK_PEEK + range->n * WORK_BYTE))
			return false;
		block = malloc(range->n);
		if (!block || rd->peek(rd->arg, range->at, block, range->n))
			return false;
		now = jit_hash(now, block, range->n);
	}
	return now == f->head_hash;
}

/*
 * Follows the list at @descriptor again, by the current entries @now. Sets @listed for the files to
 * which the list leads: these were in the list at some moment since the reading began. Skips new
 * entries. False: the process changes an entry while it is read, or the list is circular.
 */
static bool find_listed(struct reader *rd, uint64_t descriptor, struct entry *now, bool *listed)
{
	size_t left = rd->seen.n + TURNS_MOST, fresh = TURNS_MOST;
	_cleanup_free_ bool *visited = calloc(rd->jit->files.n + 1, sizeof(*visited));
	struct descriptor d;
	uint64_t at, prev = 0;

	if (!visited || rd->peek(rd->arg, descriptor, &d, sizeof(d)))
		return false;
	for (at = d.first; at && left; left--) {
		const uint64_t *i = map_get(&rd->seen, at);
		struct entry other, *e = i ? &now[*i - 1] : &other;

		if ((i && visited[*i - 1]) || (!i && rd->peek(rd->arg, at, e, sizeof(*e))) ||
		    ((!i || e->prev != prev) && !fresh--) ||
		    !jit_is_behind(rd, descriptor, prev, at, e))
			return false;
		if (i) {
			visited[*i - 1] = true;
			listed[*i - 1] = is_same_file(rd, rd->jit->files.v[*i - 1], *e);
		}
		prev = at;
		at = e->next;
	}
	return true;
}

/*
 * Forgets the files that aren't @listed. If a section of another file has the same addresses as a
 * section of these, neither section is used (find_shared()). 0 or -errno.
 */
static int keep_listed(struct reader *rd, const bool *listed)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < rd->jit->files.n; i++) {
		struct file *f = rd->jit->files.v[i];

		if (listed[i]) {
			rd->jit->files.v[n++] = f;
			continue;
		}
		vec_foreach(s, &f->spans)
			r = r ? r : vec_push(&rd->spans, ((struct span){s->start, s->end, true}));
		jit_file_put(f);
	}
	rd->jit->files.n = n;
	return r ? r : n ? 0 : -EAGAIN;
}

/*
 * Called if gdb's list changed while it was read: keeps only the files that were in the list all
 * the time.
 */
static int settle_changes(struct reader *rd)
{
	size_t n = rd->jit->files.n;
	_cleanup_free_ struct entry *now = calloc(n + 1, sizeof(*now));
	_cleanup_free_ bool *listed = calloc(n + 1, sizeof(*listed));

	if (!now || !listed)
		return -ENOMEM;
	read_entries(rd, now);
	vec_foreach(d, &rd->jit->descriptors)
		for (int i = 0; i < TRIES_MOST && !find_listed(rd, d->at, now, listed); i++) {
		}
	return keep_listed(rd, listed);
}

int jit_settle(struct reader *rd, int r)
{
	int checked = r == -ENOMEM ? r : check_files(rd, rd->jit, true);

	if (checked || is_unchanged(rd))
		return checked ? checked : r;
	return settle_changes(rd);
}

int jit_find_known(struct reader *rd, const struct gdb_jit *before)
{
	int r = before ? check_files(rd, before, false) : 0;

	for (size_t i = 0; before && !r && i < before->files.n; i++)
		r = map_put(&rd->known, before->files.v[i]->at, i + 1) < 0 ? -ENOMEM : 0;
	return r;
}
