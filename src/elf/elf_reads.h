/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notes what was read of an ELF file: the ranges of bytes, in order, and a hash over the bytes.
 * Code that caches results of a file stores ranges and hash with the results. Then the results are
 * valid for every file that has the same bytes in these ranges. The hash is computed from the bytes
 * that were used, not from a second read, because the file's owner may change the file in between.
 */
#ifndef ELF_ELF_READS_H
#define ELF_ELF_READS_H

#include "base/blake2.h"
#include "base/vec.h"
#include "elf/elf_file.h"

/*
 * A range of bytes in the file. The headers, as libelf has them in memory, also count as a range.
 */
struct elf_place {
	uint64_t offset, n;
};
/* the value of elf_place.offset that stands for the file's headers */
#define ELF_PLACE_HEADERS UINT64_MAX

/* how many ranges of a file are noted at most; libpython has 20 */
#define ELF_PLACES_MAX (64u << 10)

typedef VEC(struct elf_place) elf_place_vec;

struct elf_reads {
	struct blake2 hash;
	elf_place_vec places;
	VEC(uint32_t) sections;	 /* indexes of the sections whose bytes are in .hash */
	struct elf_block *block; /* the block of the file from which small reads are answered */
	/* the hash proves nothing, because something of the file was read without being noted */
	bool lost;
};

void elf_reads_init(struct elf_reads *r);
void elf_reads_fini(struct elf_reads *r);

/*
 * From this call on, @r (borrowed) notes what is read of @f. The call itself notes the headers of
 * @f. The same @r may serve for a file that is opened several times, one after another. If @r is
 * NULL, nothing more is noted.
 */
void elf_file_note_reads(struct elf_file *f, struct elf_reads *r);

/*
 * Gets the hash over all bytes that were noted. After this, nothing can be noted in @r. False: the
 * hash proves nothing.
 */
bool elf_reads_end(struct elf_reads *r, uint8_t hash[static BLAKE2_BYTES]);

/* Do the bytes of @f in the ranges @places have the hash @hash? */
bool elf_reads_are(struct elf_file *f, const elf_place_vec *places,
		   const uint8_t hash[static BLAKE2_BYTES]);

#endif
