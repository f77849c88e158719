/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the samples of a profile in blocks; see samplelog.h. A sample is stored, little-endian, as
 *   1 byte: bits 0-1: 0, 1, 2 = position of the label set among those used last; 3 = its id follows
 *           bit 2:    the values differ from those of the preceding sample, so values follow
 *           bit 3:    the time is earlier than .time_ns; if bits 6-7 are 3: there is no time
 *           bits 4-5: how many bytes the stack's id has, less one
 *           bits 6-7: 0, 1, 2 = the time's difference from .time_ns follows in 2, 3, 4 bytes;
 *                     3 = the time itself follows in 8 bytes, if there is a time
 *   the stack's id; the label set's id, in 2 or 4 bytes; the time; the values that differ: a varint
 *   whose bit i says that value i follows, then each of these values as a zigzag varint.
 * .time_ns is the time of the last sample that has one. Ids and times aren't varints, because
 * fixed lengths need no loop and no branch per byte.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/temporary.h"
#include "profile/samplelog.h"

#define SAMPLELOG_BLOCK 65536u
#define RECORD_MAX	(1 + 4 + 4 + 8 + 3 + 10 * PROFILE_MAX_VALUES)
/* room for one record; stores write 8 bytes even if fewer are needed */
#define RECORD_RESERVE	(RECORD_MAX + 8)
#define LABELS_EXPLICIT 3
#define LABELS_WIDE	0x8000u
#define F_VALUES	0x04
#define F_BACK		0x08
#define STACK_SHIFT	4
#define TIME_SHIFT	6
#define TIME_ABSOLUTE	3

void samplelog_init(struct samplelog *l)
{
	*l = (struct samplelog){.fd = -1};
}

void samplelog_fini(struct samplelog *l)
{
	vec_foreach(b, &l->blocks)
		free(b->mem);
	vec_fini(&l->blocks);
	free(l->open.mem);
	if (l->fd >= 0)
		close(l->fd);
	samplelog_init(l);
}

static bool write_all(int fd, const uint8_t *v, size_t n, uint64_t off)
{
	while (n) {
		ssize_t r = pwrite(fd, v, n, (off_t)off);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		v += r;
		n -= (size_t)r;
		off += (uint64_t)r;
	}
	return true;
}

static bool read_all(int fd, uint8_t *v, size_t n, uint64_t off)
{
	while (n) {
		ssize_t r = pread(fd, v, n, (off_t)off);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		v += r;
		n -= (size_t)r;
		off += (uint64_t)r;
	}
	return true;
}

/* Closes the open block: moves its bytes to the temporary file, if possible. 0 or -ENOMEM. */
static int close_block(struct samplelog *l)
{
	struct samplelog_block b = l->open;
	uint8_t *shrunk;

	if (vec_reserve(&l->blocks, l->blocks.n + 1))
		return -ENOMEM;
	if (l->fd < 0 && !l->no_file) {
		l->fd = temporary_file();
		l->no_file = l->fd < 0;
	}
	if (!l->no_file && write_all(l->fd, b.mem, b.n, l->file_size)) {
		b.off = l->file_size;
		b.mem = NULL;
		l->file_size += b.n;
		l->open = (struct samplelog_block){.mem = l->open.mem};
	} else {
		l->no_file = true;
		shrunk = realloc(b.mem, b.n);
		b.mem = shrunk ? shrunk : b.mem;
		l->open = (struct samplelog_block){};
	}
	l->blocks.v[l->blocks.n++] = b;
	return 0;
}

/* Makes room for one more sample in the open block. 0 or -ENOMEM. */
static int reserve(struct samplelog *l)
{
	if (l->open.mem && l->open.n + RECORD_RESERVE <= SAMPLELOG_BLOCK)
		return 0;
	if (l->open.mem && close_block(l))
		return err_set(-ENOMEM, "out of memory for samples");
	if (!l->open.mem)
		l->open.mem = malloc(SAMPLELOG_BLOCK);
	if (!l->open.mem)
		return err_set(-ENOMEM, "out of memory for samples");
	l->open.first_ns = INT64_MAX;
	l->open.last_ns = INT64_MIN;
	l->state = (struct samplelog_state){};
	return 0;
}

/* Stores the low @n bytes of @v at @at. Writes 8 bytes, so it overwrites what follows. */
static inline uint8_t *put(uint8_t *at, uint64_t v, unsigned n)
{
	v = htole64(v);
	/* a loop over the bytes would take a seventh of the time that storing a sample takes */
	memcpy(at, &v, sizeof(v));
	return at + n;
}

static inline unsigned bytes_of(uint32_t v)
{
	return v ? (39 - (unsigned)__builtin_clz(v)) / 8 : 1;
}

/*
 * Returns the position of @labels among the label sets that were used last, or LABELS_EXPLICIT if
 * it isn't among them. Moves @labels to the front.
 */
static inline unsigned mru_use(struct samplelog_state *st, uint32_t labels)
{
	unsigned i = 0;

	while (i < SAMPLELOG_MRU && st->mru[i] != labels)
		i++;
	for (unsigned j = MIN(i, SAMPLELOG_MRU - 1u); j; j--)
		st->mru[j] = st->mru[j - 1];
	st->mru[0] = labels;
	return i;
}

/*
 * Stores the id of a label set. An id below LABELS_WIDE takes two bytes. Any other takes four
 * bytes, and has the bit LABELS_WIDE set in the first two.
 */
static inline uint8_t *put_labels(uint8_t *at, uint32_t labels)
{
	if (labels < LABELS_WIDE)
		return put(at, labels, 2);
	at = put(at, LABELS_WIDE | labels >> 16, 2);
	return put(at, labels, 2);
}

static uint8_t *put_varint(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

/* Returns a mask of the values that changed, a bit for each of the @n values. */
static inline unsigned changed(const int64_t *old, const int64_t *v, unsigned n)
{
	unsigned mask = 0;

	for (unsigned i = 0; i < n; i++)
		mask |= (unsigned)(v[i] != old[i]) << i;
	return mask;
}

static uint8_t *put_values(uint8_t *at, unsigned mask, int64_t *last, const int64_t *v)
{
	at = put_varint(at, mask);
	for (; mask; mask &= mask - 1) {
		unsigned i = (unsigned)__builtin_ctz(mask);

		at = put_varint(at, ((uint64_t)v[i] << 1) ^ (uint64_t)(v[i] >> 63));
		last[i] = v[i];
	}
	return at;
}

static inline uint8_t *put_time(uint8_t *at, int64_t last_ns, int64_t time_ns, unsigned *head)
{
	uint64_t diff = time_ns >= last_ns ? (uint64_t)time_ns - (uint64_t)last_ns
					   : (uint64_t)last_ns - (uint64_t)time_ns;
	unsigned code = diff < 1u << 16 ? 0 : diff < 1u << 24 ? 1 : diff < 1ull << 32 ? 2 : 3;

	if (time_ns < 0) {
		*head |= TIME_ABSOLUTE << TIME_SHIFT | F_BACK;
		return at;
	}
	*head |= code << TIME_SHIFT;
	if (code == TIME_ABSOLUTE)
		return put(at, (uint64_t)time_ns, 8);
	*head |= time_ns < last_ns ? F_BACK : 0;
	return put(at, diff, code + 2);
}

int samplelog_add(struct samplelog *l, const struct profile_sample *s, unsigned n_values)
{
	struct samplelog_state *st = &l->state;
	int64_t time_ns = s->time_ns < 0 ? -1 : s->time_ns;
	unsigned head, mask, stack_bytes = bytes_of(s->stack);
	uint8_t *start, *at;
	int r = reserve(l);

	if (r)
		return r;
	start = l->open.mem + l->open.n;
	at = put(start + 1, s->stack, stack_bytes);
	head = mru_use(st, s->labels) | (stack_bytes - 1) << STACK_SHIFT;
	if ((head & 3) == LABELS_EXPLICIT)
		at = put_labels(at, s->labels);
	at = put_time(at, st->time_ns, time_ns, &head);
	mask = changed(st->values, s->values, n_values);
	if (mask) {
		head |= F_VALUES;
		at = put_values(at, mask, st->values, s->values);
	}
	*start = (uint8_t)head;
	st->time_ns = time_ns < 0 ? st->time_ns : time_ns;
	l->open.n = (uint32_t)(at - l->open.mem);
	l->open.samples++;
	l->open.first_ns = MIN(l->open.first_ns, time_ns);
	l->open.last_ns = MAX(l->open.last_ns, time_ns);
	l->n++;
	return 0;
}

static inline uint64_t get(const uint8_t **at, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)(*at)[i] << (8 * i);
	*at += n;
	return v;
}

static inline uint32_t get_labels(const uint8_t **at)
{
	uint32_t v = (uint32_t)get(at, 2);

	return v < LABELS_WIDE ? v : (v & ~LABELS_WIDE) << 16 | (uint32_t)get(at, 2);
}

static uint64_t get_varint(const uint8_t **at)
{
	unsigned shift = 0;
	uint64_t v = 0;

	do {
		v |= (uint64_t)(**at & 0x7f) << shift;
		shift += 7;
	} while (*(*at)++ & 0x80);
	return v;
}

static void get_values(const uint8_t **at, int64_t *v)
{
	for (unsigned mask = (unsigned)get_varint(at); mask; mask &= mask - 1) {
		uint64_t z = get_varint(at);

		v[__builtin_ctz(mask)] = (int64_t)(z >> 1) ^ -(int64_t)(z & 1);
	}
}

/*
 * Decodes the sample at @at into @s, and returns the address of the next one. Before the call @s is
 * the preceding sample of the block, because only values that differ from it are stored.
 */
static const uint8_t *decode(const uint8_t *at, struct samplelog_state *st,
			     struct profile_sample *s)
{
	unsigned head = *at++, code = head >> TIME_SHIFT;
	uint64_t diff;

	s->stack = (uint32_t)get(&at, (head >> STACK_SHIFT & 3) + 1);
	s->labels = (head & 3) == LABELS_EXPLICIT ? get_labels(&at) : st->mru[head & 3];
	mru_use(st, s->labels);
	if (code == TIME_ABSOLUTE) {
		s->time_ns = head & F_BACK ? -1 : (int64_t)get(&at, 8);
	} else {
		diff = get(&at, code + 2);
		s->time_ns = (int64_t)((uint64_t)st->time_ns + (head & F_BACK ? -diff : diff));
	}
	st->time_ns = s->time_ns < 0 ? st->time_ns : s->time_ns;
	if (head & F_VALUES)
		get_values(&at, s->values);
	return at;
}

static int each_in_block(const uint8_t *at, uint32_t n, int64_t first_ns, int64_t last_ns,
			 int (*fn)(void *arg, const struct profile_sample *s), void *arg)
{
	struct samplelog_state st = {};
	struct profile_sample s = {};
	int r = 0;

	while (n-- && !r) {
		at = decode(at, &st, &s);
		if (s.time_ns >= first_ns && s.time_ns <= last_ns)
			r = fn(arg, &s);
	}
	return r;
}

int samplelog_each(const struct samplelog *l, int64_t first_ns, int64_t last_ns,
		   int (*fn)(void *arg, const struct profile_sample *s), void *arg)
{
	_cleanup_free_ uint8_t *copy = malloc(SAMPLELOG_BLOCK);
	size_t n_blocks = l->blocks.n + (l->open.samples != 0);
	uint64_t left = l->n;
	int r = 0;

	if (!copy)
		return err_set(-ENOMEM, "out of memory for samples");
	/*
	 * Only the samples that exist now are visited, because @fn may add samples. These may fill
	 * the open block, which is then among .blocks and has some of the new samples in it.
	 */
	for (size_t i = 0; i < n_blocks && !r; i++) {
		struct samplelog_block b = i < l->blocks.n ? l->blocks.v[i] : l->open;
		uint32_t n = (uint32_t)MIN((uint64_t)b.samples, left);

		left -= n;
		if (b.last_ns < first_ns || b.first_ns > last_ns)
			continue;
		if (b.mem)
			memcpy(copy, b.mem, b.n);
		else if (!read_all(l->fd, copy, b.n, b.off))
			return err_sys(-EIO, "the temporary file with the samples can't be read");
		r = each_in_block(copy, n, first_ns, last_ns, fn, arg);
	}
	return r;
}
