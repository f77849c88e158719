/* SPDX-License-Identifier: BSD-2-Clause */
/* Estimates the memory that libdw takes for a file's DWARF; see dwarf_bounds.h. */
#include "elf/dwarf_bounds.h"

#include <endian.h>

#include "base/work/slice.h"
#include "elf/dwarf_file.h"
#include "elf/elf_sections.h"

#define ZDEBUG_HEAD 12

/*
 * Returns how many bytes the section has when it is unpacked. A packed section may claim any size.
 * libdw allocates as much as is claimed, and unpacks the whole section.
 */
static uint64_t unpacked_bytes(Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	GElf_Chdr ch;
	Elf_Data *raw;
	uint64_t n;

	if (sh->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &ch) ? MAX(ch.ch_size, sh->sh_size) : sh->sh_size;
	if (!str_starts(name, ".zdebug_") || sh->sh_size < ZDEBUG_HEAD ||
	    sh->sh_size > DWARF_BYTES_MAX)
		return sh->sh_size;
	/* an old packed section begins with "ZLIB" and its unpacked size, highest byte first */
	raw = elf_rawdata(scn, NULL);
	if (!raw || !raw->d_buf || raw->d_size < ZDEBUG_HEAD || memcmp(raw->d_buf, "ZLIB", 4))
		return sh->sh_size;
	memcpy(&n, (const char *)raw->d_buf + 4, sizeof(n));
	return MAX(be64toh(n), sh->sh_size);
}

/*
 * Does the section end with a NUL, if it has strings? libdw checks the offset of a string, but
 * takes for granted that a NUL ends it.
 */
static bool strings_end(Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	Elf_Data *data;

	if (!streq(name, ".debug_str") && !streq(name, ".debug_line_str"))
		return true;
	if ((sh->sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
		return false;
	data = elf_getdata(scn, NULL);
	return data && data->d_size && ((const char *)data->d_buf)[data->d_size - 1] == '\0';
}

typedef bool section_fn(int fd, Elf_Scn *scn, const GElf_Shdr *sh, const char *name, void *arg);

/*
 * Calls @fn for each section that libdw reads. Returns false if the names of sections can't be
 * read, or if @fn has returned false.
 */
static bool debug_sections(Elf *elf, int fd, section_fn *fn, void *arg)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr strings;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0 ||
	    !elf_is_string_table(elf, fd, names, NAMES_MAX_BYTES) ||
	    !gelf_getshdr(elf_getscn(elf, names), &strings) || !elf_fetch_section(fd, &strings))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name && (str_starts(name, ".debug_") || str_starts(name, ".zdebug_")) &&
		    !fn(fd, scn, &sh, name, arg))
			return false;
	}
	return true;
}

static bool add_bytes(int fd, Elf_Scn *scn, const GElf_Shdr *sh, const char *name, void *arg)
{
	uint64_t *sum = arg;

	/* the head of a packed section says how many bytes the unpacked section has */
	if (((sh->sh_flags & SHF_COMPRESSED) || str_starts(name, ".zdebug_")) &&
	    (sh->sh_size > DWARF_BYTES_MAX || !elf_fetch_section(fd, sh))) {
		*sum += DWARF_BYTES_MAX + 1;
		return true;
	}
	*sum += MIN(unpacked_bytes(scn, sh, name), DWARF_BYTES_MAX + 1);
	return true;
}

static bool check_strings(int fd, Elf_Scn *scn, const GElf_Shdr *sh, const char *name, void *arg)
{
	return elf_fetch_section(fd, sh) && strings_end(scn, sh, name);
}

uint64_t dwarf_sections_bytes(Elf *elf, int fd)
{
	uint64_t sum = 0;

	if (!debug_sections(elf, fd, add_bytes, &sum))
		return 0;
	if (sum > DWARF_BYTES_MAX || !slice_hold(sum))
		return MAX(sum, DWARF_BYTES_MAX + 1);
	return debug_sections(elf, fd, check_strings, NULL) ? sum : 0;
}

uint64_t dwarf_program_bytes(Elf *elf, uint64_t at)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		Elf_Data *data;
		uint32_t n;

		if (!name || !streq(name, ".debug_line"))
			continue;
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf || at > data->d_size || data->d_size - at < sizeof(n))
			return 0;
		memcpy(&n, (const char *)data->d_buf + at, sizeof(n));
		return MIN((uint64_t)n, DWARF_LINES_MAX + 1ull);
	}
	/*
	 * a section packed in the old way (.zdebug_line) is unpacked by libdw alone, so the line
	 * program's size isn't known, and the program counts as too long
	 */
	return DWARF_LINES_MAX + 1;
}
