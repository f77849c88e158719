/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds and reads call frame information; see section.h. */
#include "unwind/cfi/section.h"
#include "base/error.h"
#include "base/work/slice.h"
#include "elf/elf_sections.h"

#define EH_FRAME_HDR_VERSION 1
/*
 * memory that is needed, as a multiple of the section's size: once the size for the section, twice
 * for its rows
 */
#define ROWS_FACTOR 3

/* Reads @n bytes that are loaded at @vaddr. All of them must be in the file. */
static int read_loaded(struct elf_file *f, uint64_t vaddr, uint64_t n, struct cfi_section *ret)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint64_t first, last;

	if (!n)
		return 0;
	if (n > CFI_MAX_BYTES)
		return err_set(-EFBIG, "%s: call frame information of %llu bytes is too large",
			       f->name, (unsigned long long)n);
	if (!elf_file_offset(f, vaddr, &first) || !elf_file_offset(f, vaddr + n - 1, &last) ||
	    last - first != n - 1)
		return err_set(-EBADMSG, "%s: call frame information lies outside of the file",
			       f->name);
	if (!slice_hold(ROWS_FACTOR * n))
		return err_set(-EFBIG, "%s: %llu MiB of call frame information are too much for %s",
			       f->name, (unsigned long long)(n >> 20), limit_names.memory);
	bytes = malloc(n);
	if (!bytes)
		return err_sys(-ENOMEM, "%s: can't read call frame information", f->name);
	if (elf_file_read(f, vaddr, bytes, n) != n)
		return err_set(-EBADMSG, "%s: call frame information is cut off", f->name);
	ret->bytes = ret->owned = TAKE_PTR(bytes);
	ret->n = n;
	ret->vaddr = vaddr;
	return 0;
}

/* Returns how many bytes the file has from @vaddr to the end of its segment; 0 = none. */
static uint64_t rest_of_segment(const struct elf_file *f, uint64_t vaddr)
{
	vec_foreach(load, &f->loads)
		if (vaddr >= load->vaddr && vaddr - load->vaddr < load->filesz)
			return load->filesz - (vaddr - load->vaddr);
	return 0;
}

/*
 * Finds .eh_frame by .eh_frame_hdr (LSB 5.0 core, section 10.6.2), which has a version, three
 * encodings, and as its first address that of .eh_frame.
 */
static int read_by_header(struct elf_file *f, const GElf_Phdr *ph, struct cfi_section *ret)
{
	uint8_t hdr[12];
	struct cfi_section s = {.bytes = hdr, .n = sizeof(hdr), .vaddr = ph->p_vaddr};
	struct cfi_reader r = {hdr + 4, hdr + sizeof(hdr)};
	uint64_t vaddr;

	if (elf_file_read(f, ph->p_vaddr, hdr, sizeof(hdr)) != sizeof(hdr) ||
	    hdr[0] != EH_FRAME_HDR_VERSION || !cfi_pointer(&s, &r, hdr[1], &vaddr))
		return err_set(-EBADMSG, "%s: .eh_frame_hdr is broken", f->name);
	ret->to_end = true;
	return read_loaded(f, vaddr, MIN(rest_of_segment(f, vaddr), (uint64_t)CFI_MAX_BYTES), ret);
}

static int read_by_segment(struct elf_file *f, struct cfi_section *ret)
{
	GElf_Phdr ph;

	return elf_eh_frame_hdr(f, &ph) ? read_by_header(f, &ph, ret) : 0;
}

static int read_debug_frame(struct elf_file *f, struct cfi_section *ret)
{
	GElf_Shdr sh;
	GElf_Chdr ch;
	Elf_Scn *scn = elf_named_section(f, ".debug_frame", &sh);
	Elf_Data *data;

	if (!scn || sh.sh_type == SHT_NOBITS || !sh.sh_size)
		return 0;
	if (sh.sh_size <= CFI_MAX_BYTES && !elf_fetch_section(f->fd, &sh))
		return err_set(-ETIMEDOUT,
			       "%s: .debug_frame can't be read: its file system doesn't answer",
			       f->name);
	if (sh.sh_size > CFI_MAX_BYTES || ((sh.sh_flags & SHF_COMPRESSED) &&
					   (!gelf_getchdr(scn, &ch) || ch.ch_size > CFI_MAX_BYTES)))
		return err_set(-EFBIG, "%s: .debug_frame is broken or too large", f->name);
	if (!slice_hold(ROWS_FACTOR * (sh.sh_flags & SHF_COMPRESSED ? ch.ch_size : sh.sh_size)))
		return err_set(-EFBIG, "%s: .debug_frame is too much for %s", f->name,
			       limit_names.memory);
	if (f->reads)
		elf_reads_add_section(f->reads, scn);
	if ((sh.sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
		return err_set(-EBADMSG, "%s: .debug_frame: %s", f->name, elf_errmsg(-1));
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf)
		return err_set(-EBADMSG, "%s: .debug_frame is cut off", f->name);
	ret->bytes = data->d_buf;
	ret->n = data->d_size;
	ret->debug = true;
	return 0;
}

int cfi_section_read(struct elf_file *f, struct cfi_section *ret)
{
	struct elf_section eh;
	int r;

	*ret = (struct cfi_section){.arch = cfi_arch(f->machine)};
	if (elf_file_section(f, ".eh_frame", &eh))
		r = eh.nobits ? 0 : read_loaded(f, eh.vaddr, eh.size, ret);
	else
		r = read_by_segment(f, ret);
	/* a section of four bytes has only a terminator, and no entries */
	if (!r && ret->n <= 4) {
		cfi_section_fini(ret);
		r = read_debug_frame(f, ret);
	}
	return r;
}

void cfi_section_fini(struct cfi_section *s)
{
	free(s->owned);
	s->owned = NULL;
	s->bytes = NULL;
	s->n = 0;
}
