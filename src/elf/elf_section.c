/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads sections, notes and the dynamic table: the file's build id, its name and the libraries that
 * it needs.
 */
#include <elf.h>
#include <unistd.h>
#include "base/system/far.h"
#include "base/work/slice.h"
#include "elf/elf_sections.h"

bool elf_fetch_section(int fd, const GElf_Shdr *sh)
{
	return sh->sh_type == SHT_NOBITS || far_fetch(fd, sh->sh_offset, sh->sh_size);
}

bool elf_is_string_table(Elf *elf, int fd, size_t i, size_t max_bytes)
{
	Elf_Scn *scn = elf_getscn(elf, i);
	GElf_Shdr sh;
	char last;

	return scn && gelf_getshdr(scn, &sh) && sh.sh_type == SHT_STRTAB && sh.sh_size &&
	       sh.sh_size <= max_bytes && !(sh.sh_flags & SHF_COMPRESSED) &&
	       far_fetch(fd, sh.sh_offset + sh.sh_size - 1, 1) &&
	       pread(fd, &last, 1, (off_t)(sh.sh_offset + sh.sh_size - 1)) == 1 && !last;
}

Elf_Scn *elf_next_section(struct elf_file *f, Elf_Scn *scn, uint32_t type, GElf_Shdr *sh)
{
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (gelf_getshdr(scn, sh) && sh->sh_type == type)
			return scn;
	}
	return NULL;
}

/*
 * elf_is_string_table() reads the section's last byte without noting it. The result depends on that
 * byte, so this function notes the whole section as read.
 */
bool elf_reads_strings(struct elf_file *f, size_t i, size_t max_bytes)
{
	bool are = elf_is_string_table(f->elf, f->fd, i, max_bytes);
	Elf_Scn *scn = f->reads ? elf_getscn(f->elf, i) : NULL;
	GElf_Shdr sh;

	if (are && scn && gelf_getshdr(scn, &sh) && elf_fetch_section(f->fd, &sh))
		elf_reads_add_section(f->reads, scn);
	else if (f->reads && scn && gelf_getshdr(scn, &sh) && sh.sh_type == SHT_STRTAB)
		/*
		 * the string table is broken, and nobody notes what libelf reads of it, so the hash
		 * proves nothing
		 */
		f->reads->lost = true;
	return are;
}

/*
 * Charges the thread's slice (base/work/slice.h) for a section's bytes, but only the first time:
 * libelf keeps the bytes, and each relocation asks for its sections again. False: the slice is used
 * up.
 */
static bool pay_for(struct elf_file *f, const Elf_Scn *scn, uint64_t bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->paid); i++)
		if (f->paid[i] == scn)
			return true;
	if (!slice_spend(bytes * WORK_BYTE) || !slice_hold(bytes))
		return false;
	f->paid[f->n_paid++ % ARRAY_SIZE(f->paid)] = scn;
	return true;
}

Elf_Data *elf_section_data(struct elf_file *f, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data;

	if (sh->sh_size > SECTION_MAX_BYTES || (sh->sh_flags & SHF_COMPRESSED) ||
	    !pay_for(f, scn, sh->sh_size) || !elf_fetch_section(f->fd, sh))
		return NULL;
	if (f->reads)
		elf_reads_add_section(f->reads, scn);
	data = elf_getdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

Elf_Scn *elf_named_section(struct elf_file *f, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t n;

	if (!elf_reads_strings(f, f->shstrndx, NAMES_MAX_BYTES) ||
	    !gelf_getshdr(elf_getscn(f->elf, f->shstrndx), sh) || !elf_fetch_section(f->fd, sh))
		return NULL;
	if (elf_getshdrnum(f->elf, &n) || !slice_spend(n * WORK_SYMBOL))
		return NULL;
	while ((scn = elf_nextscn(f->elf, scn))) {
		const char *s;

		if (!gelf_getshdr(scn, sh))
			continue;
		s = elf_strptr(f->elf, f->shstrndx, sh->sh_name);
		if (s && streq(s, name))
			return scn;
	}
	return NULL;
}

bool elf_file_section(struct elf_file *f, const char *name, struct elf_section *ret)
{
	GElf_Shdr sh;

	if (!elf_named_section(f, name, &sh))
		return false;
	*ret = (struct elf_section){sh.sh_addr, sh.sh_size, sh.sh_offset, sh.sh_type == SHT_NOBITS};
	return true;
}

bool elf_eh_frame_hdr(struct elf_file *f, GElf_Phdr *ret)
{
	size_t n;

	if (elf_getphdrnum(f->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (gelf_getphdr(f->elf, (int)i, ret) && ret->p_type == PT_GNU_EH_FRAME &&
		    ret->p_filesz)
			return true;
	}
	return false;
}

/* Gets the GNU build id from one block of notes. Returns its number of bytes, 0 = none. */
static size_t note_build_id(Elf_Data *data, uint8_t *id)
{
	size_t at = 0, name, desc, next;
	GElf_Nhdr nh;

	while ((next = gelf_getnote(data, at, &nh, &name, &desc)) > at) {
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == sizeof("GNU") &&
		    !memcmp((char *)data->d_buf + name, "GNU", sizeof("GNU"))) {
			size_t n = MIN((size_t)nh.n_descsz, (size_t)ELF_BUILD_ID_MAX);

			memcpy(id, (char *)data->d_buf + desc, n);
			return n;
		}
		at = next;
	}
	return 0;
}

/*
 * Looks for a build id by the program headers, which are there even if section headers were
 * stripped.
 */
static size_t segment_build_id(struct elf_file *f, uint8_t *id)
{
	size_t n, found = 0, notes = 0;

	if (elf_getphdrnum(f->elf, &n) < 0)
		return 0;
	for (size_t i = 0; i < n && notes < NOTES_MAX && !found; i++) {
		Elf_Data *data;
		GElf_Phdr ph;

		if (!gelf_getphdr(f->elf, (int)i, &ph) || ph.p_type != PT_NOTE)
			continue;
		notes++;
		if (ph.p_filesz > NOTES_MAX_BYTES || !slice_spend(ph.p_filesz * WORK_BYTE) ||
		    !far_fetch(f->fd, ph.p_offset, ph.p_filesz))
			continue;
		/*
		 * Notes with 8-byte alignment (properties) have other padding, so libelf is told
		 * which kind of notes it reads.
		 */
		data = elf_getdata_rawchunk(f->elf, (int64_t)ph.p_offset, ph.p_filesz,
					    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data && data->d_buf)
			found = note_build_id(data, id);
	}
	return found;
}

size_t elf_file_build_id(struct elf_file *f, uint8_t id[static ELF_BUILD_ID_MAX])
{
	size_t n = segment_build_id(f, id);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	for (size_t notes = 0; !n && notes < NOTES_MAX; notes++) {
		Elf_Data *data;

		scn = elf_next_section(f, scn, SHT_NOTE, &sh);
		if (!scn)
			break;
		data = sh.sh_size <= NOTES_MAX_BYTES ? elf_section_data(f, scn, &sh) : NULL;

		if (data)
			n = note_build_id(data, id);
	}
	return n;
}

static bool find_dynamic(struct elf_file *f, GElf_Shdr *dynamic, GElf_Shdr *names)
{
	Elf_Scn *strings;

	if (!elf_next_section(f, NULL, SHT_DYNAMIC, dynamic) ||
	    (dynamic->sh_flags & SHF_COMPRESSED))
		return false;
	strings = elf_getscn(f->elf, dynamic->sh_link);
	return strings && gelf_getshdr(strings, names) && names->sh_type == SHT_STRTAB &&
	       !(names->sh_flags & SHF_COMPRESSED);
}

/* Reads the entries of .dynamic, DYNAMIC_MAX at most. Returns their number. */
static size_t read_dynamic(struct elf_file *f, const GElf_Shdr *sh, Elf64_Dyn *ret)
{
	size_t bytes = MIN(sh->sh_size, (uint64_t)DYNAMIC_MAX * sizeof(*ret));

	return elf_read_at(f, sh->sh_offset, ret, bytes) / sizeof(*ret);
}

/*
 * Returns the string of the entry number @i with @tag in .dynamic. Only that string is read:
 * libtorch's string table has 30 MB.
 */
static const char *dynamic_string(struct elf_file *f, int64_t tag, size_t i)
{
	Elf64_Dyn dyn[DYNAMIC_MAX];
	GElf_Shdr sh, names;
	size_t n = find_dynamic(f, &sh, &names) ? read_dynamic(f, &sh, dyn) : 0;
	size_t got;

	for (size_t k = 0; k < n && dyn[k].d_tag != DT_NULL; k++) {
		uint64_t at = dyn[k].d_un.d_val;

		if (dyn[k].d_tag != tag || i-- || at >= names.sh_size)
			continue;
		got = elf_read_at(f, names.sh_offset + at, f->dynamic_name,
				  MIN(names.sh_size - at, sizeof(f->dynamic_name) - 1));
		f->dynamic_name[got] = '\0';
		return f->dynamic_name;
	}
	return NULL;
}

const char *elf_file_needed(struct elf_file *f, size_t i)
{
	return dynamic_string(f, DT_NEEDED, i);
}

const char *elf_file_runpath(struct elf_file *f)
{
	return dynamic_string(f, DT_RUNPATH, 0) ?: dynamic_string(f, DT_RPATH, 0);
}

const char *elf_file_soname(struct elf_file *f)
{
	return dynamic_string(f, DT_SONAME, 0);
}
