/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads words of a file's data as they are after relocation; see python_data.h. */
#include "symbol/pytables/python_data.h"

#include <ctype.h>
#include <stdlib.h>

/* Reads @n words of a segment from @vaddr on, as many of them as the file has. */
static int read_words(struct elf_file *f, uint64_t vaddr, size_t n, uint64_t *words)
{
	for (size_t i = 0; i < n;) {
		size_t got =
			elf_file_read(f, vaddr + i * 8, words + i, MIN(n - i, (size_t)8192) * 8);

		if (got < 8)
			return -EIO;
		i += got / 8;
	}
	for (size_t i = 0; i < n; i++) {
		struct elf_reloc reloc;

		if (elf_file_reloc(f, vaddr + i * 8, &reloc) &&
		    !elf_file_pointer(f, vaddr + i * 8, &words[i]))
			words[i] = 0; /* a word that points into another file counts as 0 */
	}
	return 0;
}

static int add_piece(struct python_data *d, uint64_t vaddr, size_t bytes)
{
	struct data_piece piece = {.vaddr = (vaddr + 7) & ~7ull, .n = bytes / 8};
	int r;

	piece.words = calloc(piece.n + 1, sizeof(*piece.words));
	if (!piece.words)
		return -ENOMEM;
	r = read_words(d->f, piece.vaddr, piece.n, piece.words);
	if (!r)
		r = vec_push(&d->pieces, piece);
	if (r)
		free(piece.words);
	return r == -EIO ? 0 : r;
}

int python_data_load(struct python_data *d, struct elf_file *f, size_t max)
{
	const struct elf_load *loads;
	size_t n = elf_file_loads(f, &loads);
	int r = 0;

	*d = (struct python_data){.f = f};
	for (size_t i = 0; i < n && !r; i++) {
		size_t bytes = MIN(loads[i].filesz, (uint64_t)max);

		if (!loads[i].write || loads[i].exec || bytes < 16)
			continue;
		r = add_piece(d, loads[i].vaddr, bytes - 8);
		max -= bytes;
	}
	if (r)
		python_data_fini(d);
	return r;
}

void python_data_fini(struct python_data *d)
{
	vec_foreach(piece, &d->pieces)
		free(piece->words);
	vec_fini(&d->pieces);
}

uint64_t python_data_word(const struct python_data *d, uint64_t vaddr)
{
	vec_foreach(piece, &d->pieces) {
		uint64_t i = (vaddr - piece->vaddr) / 8;

		if (vaddr % 8 == 0 && vaddr >= piece->vaddr && i < piece->n)
			return piece->words[i];
	}
	return 0;
}

bool python_data_is_code(const struct python_data *d, uint64_t vaddr)
{
	const struct elf_load *loads;
	size_t n = elf_file_loads(d->f, &loads);

	for (size_t i = 0; i < n; i++) {
		if (loads[i].exec && vaddr >= loads[i].vaddr &&
		    vaddr - loads[i].vaddr < loads[i].filesz)
			return true;
	}
	return false;
}

bool python_data_name(const struct python_data *d, uint64_t vaddr, bool dots, char name[static 80])
{
	size_t got = vaddr ? elf_file_read(d->f, vaddr, name, 80) : 0, n = strnlen(name, got);

	if (!n || n == got || isdigit((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < n; i++) {
		bool within = dots && i && i + 1 < n && (name[i] == '.' || name[i] == '-');

		if (!isalnum((unsigned char)name[i]) && name[i] != '_' && !within)
			return false;
	}
	return true;
}
