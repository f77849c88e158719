/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disk.h has recorded the changes of a directory. This header makes the files that a power cut may
 * leave of that directory.
 */
#ifndef TESTS_UNIT_STORE_CUT_H
#define TESTS_UNIT_STORE_CUT_H

#include "disk.h"
#include "store_profile.h"

#define SECTOR 512u

/* What a power cut makes of the recorded calls after which no flush (fsync()) came. */
enum cut_mode {
	CUT_KEPT,
	CUT_LOST,
	/* the first of these calls reach the disk, and the last of them maybe only in part */
	CUT_PREFIX,
	CUT_SUBSET, /* each of these calls either reaches the disk as a whole, or doesn't */
	/*
	 * each sector that these calls wrote has its old or its new contents, zeros, or random
	 * bytes
	 */
	CUT_SECTORS,
	CUT_SHUFFLED, /* like CUT_SECTORS, but the calls reach the disk in another order */
	CUT_MODES
};

struct cut {
	size_t ops; /* how many of the recorded calls came before the power cut */
	uint32_t random;
	bool all_kept; /* the power cut loses nothing, not even calls after which no flush came */
};

/* The contents of a file. */
struct cut_bytes {
	uint8_t *v;
	size_t n, cap;
};

/* Changes the size of a file. The new bytes at its end are zeros. */
static inline void cut_resize(struct cut_bytes *b, size_t n)
{
	if (vec_reserve(b, n))
		abort();
	if (n > b->n)
		memset(b->v + b->n, 0, n - b->n);
	b->n = n;
}

static inline void cut_apply(struct cut_bytes *b, const struct disk_op *op)
{
	if (op->kind == DISK_SIZE) {
		cut_resize(b, op->at);
		return;
	}
	cut_resize(b, MAX(b->n, op->at + op->n));
	memcpy(b->v + op->at, disk.data.s + op->data, op->n);
}

/* Applies one sector of a write to @b, or what the power cut leaves of it. */
static inline void cut_sector(struct cut *c, struct cut_bytes *b, const struct disk_op *op)
{
	uint32_t what = random_below(&c->random, 8);

	if (what == 0)
		return;
	cut_apply(b, op);
	for (size_t i = 0; what <= 2 && i < op->n; i++)
		b->v[op->at + i] = what == 1 ? 0 : (uint8_t)random_below(&c->random, 256);
}

static inline void cut_sectors(struct cut *c, struct cut_bytes *b, const struct disk_op *op)
{
	if (op->kind == DISK_SIZE) {
		if (random_below(&c->random, 2))
			cut_apply(b, op);
		return;
	}
	for (size_t done = 0, n; done < op->n; done += n) {
		struct disk_op part = *op;

		n = MIN(op->n - done, SECTOR - (op->at + done) % SECTOR);
		part.at += done;
		part.data += done;
		part.n = n;
		cut_sector(c, b, &part);
	}
}

struct cut_list {
	VEC(size_t) ops;
};

static inline void cut_swap(size_t *a, size_t *b)
{
	size_t saved = *a;

	*a = *b;
	*b = saved;
}

static inline void cut_shuffle(struct cut *c, struct cut_list *l)
{
	for (size_t i = l->ops.n; i > 1; i--)
		cut_swap(&l->ops.v[i - 1], &l->ops.v[random_below(&c->random, (uint32_t)i)]);
}

static inline void cut_prefix(struct cut *c, struct cut_bytes *b, const struct cut_list *l)
{
	size_t whole = l->ops.n ? random_below(&c->random, (uint32_t)l->ops.n) : 0;

	for (size_t i = 0; i < whole; i++)
		cut_apply(b, &disk.ops.v[l->ops.v[i]]);
	if (l->ops.n)
		cut_sectors(c, b, &disk.ops.v[l->ops.v[whole]]);
}

/*
 * Applies to @b those calls in @l after which no flush came, as far as the power cut lets them
 * reach the disk.
 */
static inline void cut_pending(struct cut *c, struct cut_bytes *b, struct cut_list *l)
{
	enum cut_mode mode = c->all_kept ? CUT_KEPT : random_below(&c->random, CUT_MODES);

	if (mode == CUT_PREFIX)
		cut_prefix(c, b, l);
	if (mode == CUT_SHUFFLED)
		cut_shuffle(c, l);
	vec_foreach(at, &l->ops) {
		const struct disk_op *op = &disk.ops.v[*at];

		if (mode == CUT_KEPT || (mode == CUT_SUBSET && random_below(&c->random, 2)))
			cut_apply(b, op);
		if (mode == CUT_SECTORS || mode == CUT_SHUFFLED)
			cut_sectors(c, b, op);
	}
}

static inline void cut_contents(struct cut *c, int file, struct cut_bytes *b)
{
	struct cut_list pending = {};

	b->n = 0;
	for (size_t i = 0; i < c->ops; i++) {
		const struct disk_op *op = &disk.ops.v[i];

		if (op->file != file || op->kind == DISK_NAME)
			continue;
		if (op->kind != DISK_FLUSH && vec_push(&pending.ops, i))
			abort();
		if (op->kind != DISK_FLUSH)
			continue;
		vec_foreach(at, &pending.ops)
			cut_apply(b, &disk.ops.v[*at]);
		pending.ops.n = 0;
	}
	cut_pending(c, b, &pending);
	vec_fini(&pending.ops);
}

/*
 * Returns the file to which a name leads after the power cut: the file to which it led at the last
 * flush of its directory, or any file to which it has led since.
 */
static inline int cut_name(struct cut *c, int name)
{
	int directory = strchr(disk.names[name].path, '/') ? THE_STORE : THE_ROOT;
	bool durable = c->all_kept;

	for (size_t i = c->ops; i--;) {
		const struct disk_op *op = &disk.ops.v[i];

		if (op->kind == DISK_FLUSH && op->file == directory)
			durable = true;
		if (op->kind == DISK_NAME && op->name == name &&
		    (durable || random_below(&c->random, 2)))
			return op->file;
	}
	return NO_FILE;
}

static inline void cut_write(const char *path, const struct cut_bytes *b)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(b->v, 1, b->n, f) != b->n || fclose(f))
		abort();
}

/*
 * Fills the empty directory @to with what a power cut leaves of the recorded directory. The first
 * recorded name is that of the store's directory.
 */
static inline void cut_make(struct cut *c, const char *to)
{
	struct cut_bytes b = {};
	char path[192];

	for (int name = 0; name < disk.n_names; name++) {
		int file = cut_name(c, name);

		snprintf(path, sizeof(path), "%s/%s", to, disk.names[name].path);
		if (file == THE_STORE && mkdir(path, 0700))
			abort();
		if (file == NO_FILE && !name)
			/* the store's directory itself is lost, and with it all its files */
			break;
		if (file <= THE_STORE)
			continue;
		cut_contents(c, file, &b);
		cut_write(path, &b);
	}
	vec_fini(&b);
}

#endif
