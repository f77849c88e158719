/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was read of an ELF file: the places, in order, and a hash of the bytes as they were read.
 * Whoever keeps what was made of a file keeps this with it: it may serve every file that has the
 * same bytes at the same places, for the same would be made of it. The hash is taken from the bytes
 * that were used and not by a second look: the file may belong to somebody who changes it in
 * between.
 */
#ifndef ELF_ELF_READS_H
#define ELF_ELF_READS_H

#include "base/blake2.h"
#include "base/vec.h"
#include "elf/elf_file.h"

/* Bytes of the file. The headers as libelf has them are a place too. */
struct elf_place {
	uint64_t offset, n;
};
#define ELF_PLACE_HEADERS UINT64_MAX /* .offset */

#define ELF_PLACES_MAX	  (64u << 10) /* libpython has 20 */

typedef VEC(struct elf_place) elf_place_vec;

struct elf_reads {
	struct blake2 hash;
	elf_place_vec places;
	VEC(uint32_t) sections;	 /* that were added */
	struct elf_block *block; /* small reads come from */
	bool lost; /* something was read that isn't in here: nothing can be proved by it */
};

void elf_reads_init(struct elf_reads *r);
void elf_reads_fini(struct elf_reads *r);

/*
 * From now on what is read of @f is noted in @r (borrowed), its headers at once. One @r may take
 * the reads of several opens of one file, one after another. NULL: no more.
 */
void elf_file_note_reads(struct elf_file *f, struct elf_reads *r);

/* The hash of all that was noted. @r takes no more. False: it proves nothing. */
bool elf_reads_end(struct elf_reads *r, uint8_t hash[static BLAKE2_BYTES]);

/* Has @f the bytes that make this @hash at these @places? */
bool elf_reads_are(struct elf_file *f, const elf_place_vec *places,
		   const uint8_t hash[static BLAKE2_BYTES]);

#endif
