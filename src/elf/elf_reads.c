/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes what is read of a file; see elf_reads.h. */
#include "elf/elf_reads.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/system/far.h"
#include "elf/elf_sections.h"

#define AT_ONCE (256u << 10)

/*
 * Reads of up to SMALL bytes are answered from a block of the file that is kept, because jump
 * tables are read entry by entry.
 */
#define SMALL	    512u
#define BLOCK_BYTES 4096u
struct elf_block {
	uint64_t offset;
	size_t n; /* how many bytes, from .offset on, are in .bytes; 0: no block was read yet */
	uint8_t bytes[BLOCK_BYTES];
};

void elf_reads_init(struct elf_reads *r)
{
	*r = (struct elf_reads){};
	blake2_init(&r->hash);
}

void elf_reads_fini(struct elf_reads *r)
{
	vec_fini(&r->places);
	vec_fini(&r->sections);
	free(r->block);
	r->block = NULL;
}

static void add_place(struct elf_reads *r, struct elf_place place)
{
	if (r->places.n >= ELF_PLACES_MAX || vec_push(&r->places, place))
		r->lost = true;
}

void elf_reads_add(struct elf_reads *r, uint64_t offset, const void *bytes, uint64_t n)
{
	struct elf_place *last = r->places.n ? &r->places.v[r->places.n - 1] : NULL;

	if (!n || r->lost)
		return;
	blake2_add(&r->hash, bytes, n);
	if (last && last->offset != ELF_PLACE_HEADERS && last->offset + last->n == offset)
		last->n += n;
	else
		add_place(r, (struct elf_place){offset, n});
}

/*
 * Hashes the headers in the form in which libelf keeps them after it has read them, because from
 * then on libelf uses its own copies.
 */
static void hash_headers(struct blake2 *hash, Elf *elf)
{
	size_t n = 0;
	GElf_Ehdr eh = {};
	GElf_Phdr ph;
	GElf_Shdr sh;

	(void)!gelf_getehdr(elf, &eh);
	blake2_add(hash, &eh, sizeof(eh));
	(void)elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		memset(&ph, 0, sizeof(ph));
		(void)!gelf_getphdr(elf, (int)i, &ph);
		blake2_add(hash, &ph, sizeof(ph));
	}
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		memset(&sh, 0, sizeof(sh));
		(void)!gelf_getshdr(scn, &sh);
		blake2_add(hash, &sh, sizeof(sh));
	}
}

void elf_file_note_reads(struct elf_file *f, struct elf_reads *r)
{
	f->reads = r;
	if (!r)
		return;
	r->sections.n = 0;
	hash_headers(&r->hash, f->elf);
	add_place(r, (struct elf_place){.offset = ELF_PLACE_HEADERS});
}

void elf_reads_add_section(struct elf_reads *r, Elf_Scn *scn)
{
	uint32_t index = (uint32_t)elf_ndxscn(scn);
	Elf_Data *raw;
	GElf_Shdr sh;

	vec_foreach(i, &r->sections)
		if (*i == index)
			return;
	if (vec_push(&r->sections, index))
		r->lost = true;
	if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || !sh.sh_size)
		return;
	raw = elf_rawdata(scn, NULL);
	if (raw && raw->d_buf && raw->d_size == sh.sh_size)
		elf_reads_add(r, sh.sh_offset, raw->d_buf, raw->d_size);
	else
		/*
		 * the read got too few bytes, because the file was cut off or its file system
		 * doesn't answer
		 */
		r->lost = true;
}

static size_t read_all(const struct elf_file *f, uint64_t offset, void *buf, size_t n)
{
	size_t got = 0;

	if (f->copy >= 0 && !far_fetch(f->fd, offset, n))
		return 0;
	while (got < n) {
		ssize_t r = pread(f->fd, (char *)buf + got, n - got, (off_t)(offset + got));

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		got += (size_t)r;
	}
	return got;
}

/* Returns the block that holds @offset. Reads it unless it is the block that was read last. */
static const struct elf_block *block_at(const struct elf_file *f, uint64_t offset)
{
	struct elf_reads *r = f->reads;
	uint64_t start = offset & ~(uint64_t)(BLOCK_BYTES - 1);

	if (!r->block)
		r->block = calloc(1, sizeof(*r->block));
	if (!r->block)
		return NULL;
	if (r->block->n && r->block->offset == start)
		return r->block;
	r->block->offset = start;
	r->block->n = read_all(f, start, r->block->bytes, BLOCK_BYTES);
	elf_reads_add(r, start, r->block->bytes, r->block->n);
	return r->block;
}

size_t elf_read_at(const struct elf_file *f, uint64_t offset, void *buf, size_t n)
{
	uint64_t within = offset & (BLOCK_BYTES - 1);
	const struct elf_block *b;
	size_t got;

	if (!f->reads)
		return read_all(f, offset, buf, n);
	b = n <= SMALL && within + n <= BLOCK_BYTES ? block_at(f, offset) : NULL;
	if (b && within + n <= b->n) {
		memcpy(buf, b->bytes + within, n);
		return n;
	}
	got = read_all(f, offset, buf, n);
	elf_reads_add(f->reads, offset, buf, got);
	/*
	 * the file ended within this range; a longer file with the same bytes up to the end would
	 * have the same hash, but more bytes in this range, so the hash proves nothing
	 */
	f->reads->lost |= got < n;
	return got;
}

bool elf_reads_end(struct elf_reads *r, uint8_t hash[static BLAKE2_BYTES])
{
	blake2_end(&r->hash, hash);
	return !r->lost;
}

static bool add_again(const struct elf_file *f, const struct elf_place *place, uint8_t *bytes,
		      struct blake2 *hash)
{
	for (uint64_t done = 0; done < place->n;) {
		size_t n = MIN((uint64_t)AT_ONCE, place->n - done);

		if (read_all(f, place->offset + done, bytes, n) != n)
			return false;
		blake2_add(hash, bytes, n);
		done += n;
	}
	return true;
}

bool elf_reads_are(struct elf_file *f, const elf_place_vec *places,
		   const uint8_t hash[static BLAKE2_BYTES])
{
	_cleanup_free_ uint8_t *bytes = malloc(AT_ONCE);
	uint8_t now[BLAKE2_BYTES];
	struct blake2 b;

	if (!bytes || !places->n)
		return false;
	blake2_init(&b);
	vec_foreach(place, places)
		if (place->offset == ELF_PLACE_HEADERS)
			hash_headers(&b, f->elf);
		else if (!add_again(f, place, bytes, &b))
			return false;
	blake2_end(&b, now);
	return !memcmp(now, hash, sizeof(now));
}
