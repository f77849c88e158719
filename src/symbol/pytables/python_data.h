/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the initialised data of an ELF file as words, as if the file were loaded at the addresses
 * that it names itself.
 */
#ifndef SYMBOL_PYTABLES_PYTHON_DATA_H
#define SYMBOL_PYTABLES_PYTHON_DATA_H

#include "base/vec.h"
#include "elf/elf_file.h"

struct data_piece {
	uint64_t vaddr; /* address of the first word, a multiple of 8 */
	size_t n;	/* number of words in the segment */
	uint64_t *words;
};

struct python_data {
	struct elf_file *f;
	VEC(struct data_piece) pieces;
};

/* Loads the writable segments of a file, at most @max bytes together. 0 or -ENOMEM. */
_must_use_ int python_data_load(struct python_data *d, struct elf_file *f, size_t max);
void python_data_fini(struct python_data *d);

/* Returns the word at @vaddr; 0: the word wasn't loaded. */
uint64_t python_data_word(const struct python_data *d, uint64_t vaddr);

/* Tells whether @vaddr lies in a segment of code. */
bool python_data_is_code(const struct python_data *d, uint64_t vaddr);

/*
 * Copies the text at @vaddr if it is a name of at most 79 bytes: letters, digits and _; with @dots
 * also . and - within the name. False: the text isn't such a name.
 */
bool python_data_name(const struct python_data *d, uint64_t vaddr, bool dots, char name[static 80]);

#endif
