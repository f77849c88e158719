/* SPDX-License-Identifier: BSD-2-Clause */
/* The initialised data of an ELF file as words, with what relocations at bias 0 make of them. */
#ifndef SYMBOL_PYTHON_DATA_H
#define SYMBOL_PYTHON_DATA_H

#include "base/vec.h"
#include "elf/elf_file.h"

struct data_piece {
	uint64_t vaddr; /* a multiple of 8 */
	size_t n;	/* words */
	uint64_t *words;
};

struct python_data {
	struct elf_file *f;
	VEC(struct data_piece) pieces;
};

/* Writable segments, at most @max bytes in all. 0 or -ENOMEM. */
_must_use_ int python_data_load(struct python_data *d, struct elf_file *f, size_t max);
void python_data_fini(struct python_data *d);

/* The word at @vaddr; 0 if it isn't there. */
uint64_t python_data_word(const struct python_data *d, uint64_t vaddr);

/* Is @vaddr in code? */
bool python_data_is_code(const struct python_data *d, uint64_t vaddr);

/*
 * The text at @vaddr if it is a name: letters, digits, _, with @dots also dots within, at most 79
 * bytes. Else false.
 */
bool python_data_name(const struct python_data *d, uint64_t vaddr, bool dots, char name[static 80]);

#endif
