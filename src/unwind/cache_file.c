/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes rows into a cache file and reads them; see cache_file.h. */
#include "unwind/cache_file.h"

#include <errno.h>
#include <unistd.h>

/*
 * The last byte is the version of this format, and of the way in which krait makes rows from a
 * file.
 */
static const char magic[8] = "krait-r\3";

#define REGISTERS 33 /* DWARF numbers of registers in rules are below this */

struct header {
	char magic[8];
	/* version of the ELF file for which krait last proved that the cached rows belong to it */
	struct unwind_cache_version version;
	uint64_t sum; /* checksum of all that follows this field */
	uint64_t krait[3];
	uint8_t id[ELF_BUILD_ID_MAX];
	uint64_t n, bytes, owner; /* the members n, bytes and owner of struct unwind_cache_key */
	uint8_t hash[BLAKE2_BYTES];
	uint64_t base, bad;
	uint64_t rows, rules, fdes, places;
	char why[96];
};

bool unwind_cache_is_ours(int fd, uid_t uid, mode_t type, struct stat *st)
{
	return !fstat(fd, st) && (st->st_mode & S_IFMT) == type && st->st_uid == uid &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * Identifies this build of krait, by its program file, because another build may make other rows.
 */
static void this_krait(uint64_t ret[static 3])
{
	struct stat st = {};

	(void)!stat("/proc/self/exe", &st);
	ret[0] = st.st_size;
	ret[1] = st.st_mtim.tv_sec;
	ret[2] = st.st_mtim.tv_nsec;
}

static uint64_t sum_of(uint64_t sum, const void *bytes, size_t n)
{
	const char *at = bytes;
	uint64_t word;

	for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 29;
	}
	word = n;
	memcpy(&word, at, n);
	sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
	return sum ^ sum >> 29;
}

static uint64_t checksum(const struct header *h, const struct unwind_rows *r,
			 const elf_place_vec *places)
{
	const size_t from = offsetof(struct header, krait);
	uint64_t sum = sum_of(0, (const char *)h + from, sizeof(*h) - from);

	sum = sum_of(sum, r->rows.v, r->rows.n * sizeof(*r->rows.v));
	sum = sum_of(sum, r->rules.v, r->rules.n * sizeof(*r->rules.v));
	sum = sum_of(sum, r->fdes.v, r->fdes.n * sizeof(*r->fdes.v));
	return sum_of(sum, places->v, places->n * sizeof(*places->v));
}

static bool read_all(int fd, void *bytes, size_t n)
{
	for (char *at = bytes; n;) {
		ssize_t got = read(fd, at, n);

		if (got <= 0)
			return false;
		at += got;
		n -= got;
	}
	return true;
}

#define read_vec(fd, vec, count)                                                                   \
	(!vec_reserve(vec, count) && read_all(fd, (vec)->v, (count) * sizeof(*(vec)->v)) &&        \
	 ((vec)->n = (count), true))

static bool fits(const struct header *h, const struct unwind_cache_key *key, uint64_t bytes)
{
	uint64_t krait[3];

	this_krait(krait);
	return !memcmp(h->magic, magic, sizeof(magic)) && !memcmp(h->krait, krait, sizeof(krait)) &&
	       h->n == key->n && !memcmp(h->id, key->id, key->n) && h->bytes == key->bytes &&
	       h->owner == key->owner && h->rows <= UNWIND_MAX_ROWS && h->rules &&
	       h->rules <= UNWIND_MAX_RULES && h->fdes <= UNWIND_MAX_FDES &&
	       h->places <= ELF_PLACES_MAX && !h->why[sizeof(h->why) - 1] &&
	       bytes == sizeof(*h) + h->rows * sizeof(struct unwind_row) +
				h->rules * sizeof(struct unwind_rule) +
				h->fdes * sizeof(struct unwind_fde) +
				h->places * sizeof(struct elf_place);
}

static bool rule_makes_sense(const struct unwind_rule *u)
{
	return u->cfa <= UNWIND_CLONE && u->reg < REGISTERS && u->index < REGISTERS &&
	       !(u->slots & ~(UNWIND_FP_FROM_FP | UNWIND_BX_FROM_FP | UNWIND_RA_IN_INDEX));
}

static bool makes_sense(const struct unwind_rows *r)
{
	static const struct unwind_rule none = {};

	if (r->base & 4095 || memcmp(&r->rules.v[0], &none, sizeof(none)))
		return false;
	vec_foreach(u, &r->rules)
		if (!rule_makes_sense(u))
			return false;
	for (size_t i = 0; i < r->rows.n; i++)
		if (r->rows.v[i].rule >= r->rules.n ||
		    (i && r->rows.v[i].key <= r->rows.v[i - 1].key))
			return false;
	for (size_t i = 0; i < r->fdes.n; i++)
		if (r->fdes.v[i].start >= r->fdes.v[i].end ||
		    (i && r->fdes.v[i].start < r->fdes.v[i - 1].end))
			return false;
	return true;
}

bool unwind_cache_read(int fd, uid_t uid, const struct unwind_cache_key *key,
		       struct unwind_rows *ret, struct unwind_cache_proof *proof)
{
	struct header h;
	struct stat st;

	if (!unwind_cache_is_ours(fd, uid, S_IFREG, &st) || !read_all(fd, &h, sizeof(h)) ||
	    !fits(&h, key, st.st_size) || !read_vec(fd, &ret->rows, h.rows) ||
	    !read_vec(fd, &ret->rules, h.rules) || !read_vec(fd, &ret->fdes, h.fdes) ||
	    !read_vec(fd, &proof->places, h.places) || h.sum != checksum(&h, ret, &proof->places))
		return false;
	proof->version = h.version;
	memcpy(proof->hash, h.hash, sizeof(proof->hash));
	ret->base = h.base;
	ret->bad = h.bad;
	memcpy(ret->why, h.why, sizeof(ret->why));
	return makes_sense(ret);
}

static bool write_all(int fd, const void *bytes, size_t n)
{
	for (const char *at = bytes; n;) {
		ssize_t put = write(fd, at, n);

		if (put <= 0)
			return false;
		at += put;
		n -= put;
	}
	return true;
}

int unwind_cache_write(int fd, const struct unwind_cache_key *key, const struct unwind_rows *r,
		       const struct unwind_cache_proof *proof)
{
	struct header h;

	/* the struct is written with its padding, so the padding is set to 0 */
	memset(&h, 0, sizeof(h));
	memcpy(h.magic, magic, sizeof(magic));
	this_krait(h.krait);
	h.version = proof->version;
	memcpy(h.id, key->id, key->n);
	h.n = key->n;
	h.bytes = key->bytes;
	h.owner = key->owner;
	memcpy(h.hash, proof->hash, sizeof(h.hash));
	h.base = r->base;
	h.bad = r->bad;
	h.rows = r->rows.n;
	h.rules = r->rules.n;
	h.fdes = r->fdes.n;
	h.places = proof->places.n;
	memcpy(h.why, r->why, sizeof(h.why));
	h.sum = checksum(&h, r, &proof->places);
	errno = 0;
	if (!write_all(fd, &h, sizeof(h)) ||
	    !write_all(fd, r->rows.v, r->rows.n * sizeof(*r->rows.v)) ||
	    !write_all(fd, r->rules.v, r->rules.n * sizeof(*r->rules.v)) ||
	    !write_all(fd, r->fdes.v, r->fdes.n * sizeof(*r->fdes.v)) ||
	    !write_all(fd, proof->places.v, proof->places.n * sizeof(*proof->places.v)))
		return errno ? -errno : -EIO;
	return 0;
}

void unwind_cache_write_version(int fd, const struct unwind_cache_version *version)
{
	(void)!pwrite(fd, version, sizeof(*version), offsetof(struct header, version));
}
