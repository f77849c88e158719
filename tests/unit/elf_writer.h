/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes small ELF files for tests: code at 0x1000, data at 0x2000 (then zeros to 0x30000),
 * constants at 0x40000 if there are any, a dynamic symbol table, relocations, DT_NEEDED and
 * DT_SONAME, named sections. The arrays have fixed sizes: a test that needs more fails an
 * assertion.
 */
#ifndef TESTS_UNIT_ELF_WRITER_H
#define TESTS_UNIT_ELF_WRITER_H

#include <assert.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/util.h"

#define EW_TEXT	 0x1000u
#define EW_DATA	 0x2000u
#define EW_ZERO	 0x3000u  /* file offset of the first byte after the data */
#define EW_END	 0x30000u /* address at which the data segment ends in memory */
#define EW_CONST 0x40000u

struct elf_writer {
	uint16_t type, machine;
	uint8_t text[4096], data[4096];
	uint8_t constants[12288];
	size_t text_n, data_n, const_n;
	char str[4096];
	size_t str_n;
	Elf64_Sym sym[64];
	size_t sym_n;
	Elf64_Rela rela[64];
	size_t rela_n;
	Elf64_Dyn dyn[16];
	size_t dyn_n;
	uint8_t note[64];
	size_t note_n;
	uint64_t entry;
	bool text_section;
	bool symtab; /* puts the symbols into .symtab instead of .dynsym */
	bool no_sections;
	uint64_t eh_frame_hdr;	 /* address of PT_GNU_EH_FRAME; 0: the file has none */
	uint64_t eh_frame_hdr_n; /* size of PT_GNU_EH_FRAME in bytes; 0 stands for 12 */
	const char *named;	 /* name of an additional section; NULL: there is none */
	Elf64_Shdr named_sh;
};

static inline uint32_t ew_str(struct elf_writer *w, const char *s)
{
	uint32_t at = (uint32_t)w->str_n;

	assert(w->str_n + strlen(s) + 1 <= sizeof(w->str));
	strcpy(w->str + at, s);
	w->str_n += strlen(s) + 1;
	return at;
}

static inline void ew_init(struct elf_writer *w, uint16_t type)
{
	memset(w, 0, sizeof(*w));
	w->type = type;
	w->machine = EM_X86_64;
	ew_str(w, "");
	w->sym_n = 1;
}

/*
 * Appends @n bytes to the buffer @to, which has room for @cap bytes and @used in use. Returns their
 * offset.
 */
static inline size_t ew_append(uint8_t *to, size_t cap, size_t *used, const void *bytes, size_t n)
{
	size_t at = *used;

	assert(at + n + 8 <= cap);
	memcpy(to + at, bytes, n);
	*used = (at + n + 7) & ~(size_t)7;
	return at;
}

/*
 * ew_text(), ew_data() and so on append bytes to a part of the file. They return the address of the
 * bytes, a multiple of 8.
 */
static inline uint64_t ew_text(struct elf_writer *w, const void *bytes, size_t n)
{
	return EW_TEXT + ew_append(w->text, sizeof(w->text), &w->text_n, bytes, n);
}

static inline uint64_t ew_data(struct elf_writer *w, const void *bytes, size_t n)
{
	return EW_DATA + ew_append(w->data, sizeof(w->data), &w->data_n, bytes, n);
}

static inline uint64_t ew_const(struct elf_writer *w, const void *bytes, size_t n)
{
	return EW_CONST + ew_append(w->constants, sizeof(w->constants), &w->const_n, bytes, n);
}

static inline uint64_t ew_u64(struct elf_writer *w, uint64_t v)
{
	return ew_data(w, &v, sizeof(v));
}

static inline void ew_set_u64(struct elf_writer *w, uint64_t vaddr, uint64_t v)
{
	assert(vaddr >= EW_DATA && vaddr - EW_DATA + 8 <= sizeof(w->data));
	memcpy(w->data + (vaddr - EW_DATA), &v, sizeof(v));
}

static inline size_t ew_symbol(struct elf_writer *w, const char *name, uint64_t value,
			       uint64_t size, uint16_t shndx)
{
	assert(w->sym_n < ARRAY_SIZE(w->sym));
	w->sym[w->sym_n] = (Elf64_Sym){
		ew_str(w, name), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, shndx, value, size};
	return w->sym_n++;
}

static inline void ew_rela(struct elf_writer *w, uint64_t vaddr, uint32_t type, size_t sym,
			   int64_t addend)
{
	assert(w->rela_n < ARRAY_SIZE(w->rela));
	w->rela[w->rela_n++] = (Elf64_Rela){vaddr, ELF64_R_INFO(sym, type), addend};
}

static inline void ew_dyn_string(struct elf_writer *w, int64_t tag, const char *s)
{
	assert(w->dyn_n < ARRAY_SIZE(w->dyn));
	w->dyn[w->dyn_n++] = (Elf64_Dyn){tag, {ew_str(w, s)}};
}

static inline void ew_build_id(struct elf_writer *w, const uint8_t *id, uint32_t n)
{
	Elf64_Nhdr nh = {4, n, NT_GNU_BUILD_ID};

	memcpy(w->note, &nh, sizeof(nh));
	memcpy(w->note + sizeof(nh), "GNU", 4);
	memcpy(w->note + sizeof(nh) + 4, id, n);
	w->note_n = sizeof(nh) + 4 + ((n + 3) & ~3u);
}

/* File offsets of the parts. They are far apart, so that parts of any size fit. */
enum {
	EW_AT_SYM = 0x4000,
	EW_AT_STR = 0x5000,
	EW_AT_RELA = 0x6000,
	EW_AT_DYN = 0x7000,
	EW_AT_NOTE = 0x7800,
	EW_AT_SH = 0x8000,
	EW_AT_CONST = 0x9000
};

static inline size_t ew_headers(struct elf_writer *w, Elf64_Phdr *ph, Elf64_Shdr *sh)
{
	size_t sym = 2, str = 3, n = 1;

	ph[0] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, EW_TEXT, EW_TEXT, EW_TEXT, 4096, 4096, 4096};
	ph[1] = (Elf64_Phdr){PT_LOAD, PF_R | PF_W, EW_DATA,	     EW_DATA,
			     EW_DATA, 4096,	   EW_END - EW_DATA, 4096};
	ph[2] = (Elf64_Phdr){PT_NOTE, PF_R, EW_AT_NOTE, 0, 0, w->note_n, w->note_n, 4};
	if (w->eh_frame_hdr) {
		uint64_t bytes = w->eh_frame_hdr_n ? w->eh_frame_hdr_n : 12;

		ph[3] = (Elf64_Phdr){PT_GNU_EH_FRAME, PF_R,  w->eh_frame_hdr, w->eh_frame_hdr,
				     w->eh_frame_hdr, bytes, bytes,	      4};
	}
	if (w->const_n)
		ph[4] = (Elf64_Phdr){PT_LOAD,  PF_R,	   EW_AT_CONST, EW_CONST,
				     EW_CONST, w->const_n, w->const_n,	4096};
	sh[n++] =
		(Elf64_Shdr){ew_str(w, ".rodata"), SHT_PROGBITS, SHF_ALLOC, EW_DATA, EW_DATA, 4096};
	sh[n++] = (Elf64_Shdr){ew_str(w, w->symtab ? ".symtab" : ".dynsym"),
			       w->symtab ? SHT_SYMTAB : SHT_DYNSYM,
			       SHF_ALLOC,
			       0,
			       EW_AT_SYM,
			       w->sym_n * sizeof(Elf64_Sym),
			       (uint32_t)str,
			       1,
			       8,
			       sizeof(Elf64_Sym)};
	/* leaves room for the header of .dynstr, which is filled in once all strings are known */
	n++;
	sh[n++] = (Elf64_Shdr){
		ew_str(w, ".rela.dyn"),		SHT_RELA,      SHF_ALLOC, 0, EW_AT_RELA,
		w->rela_n * sizeof(Elf64_Rela), (uint32_t)sym, 0,	  8, sizeof(Elf64_Rela)};
	sh[n++] = (Elf64_Shdr){ew_str(w, ".dynamic"),
			       SHT_DYNAMIC,
			       SHF_ALLOC,
			       0,
			       EW_AT_DYN,
			       (w->dyn_n + 1) * sizeof(Elf64_Dyn),
			       (uint32_t)str,
			       0,
			       8,
			       sizeof(Elf64_Dyn)};
	if (w->named) {
		w->named_sh.sh_name = ew_str(w, w->named);
		sh[n++] = w->named_sh;
	}
	if (w->text_section)
		sh[n++] = (Elf64_Shdr){ew_str(w, ".text"),
				       SHT_PROGBITS,
				       SHF_ALLOC | SHF_EXECINSTR,
				       EW_TEXT,
				       EW_TEXT,
				       4096};
	sh[str] = (Elf64_Shdr){ew_str(w, ".dynstr"), SHT_STRTAB, SHF_ALLOC, 0, EW_AT_STR, w->str_n};
	return n;
}

static inline void ew_put(int fd, off_t at, const void *bytes, size_t n)
{
	assert(pwrite(fd, bytes, n, at) == (ssize_t)n);
}

/* Returns a memfd with the whole file. The caller closes it. */
static inline int ew_write(struct elf_writer *w)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	Elf64_Phdr ph[5] = {};
	Elf64_Shdr sh[8] = {{0}};
	Elf64_Ehdr eh = {{0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}};
	size_t n = ew_headers(w, ph, sh);

	eh.e_type = w->type;
	eh.e_machine = w->machine;
	eh.e_version = EV_CURRENT;
	eh.e_entry = w->entry;
	eh.e_phoff = sizeof(eh);
	eh.e_ehsize = sizeof(eh);
	eh.e_phentsize = sizeof(ph[0]);
	eh.e_phnum = ARRAY_SIZE(ph);
	if (!w->no_sections) {
		eh.e_shoff = EW_AT_SH;
		eh.e_shentsize = sizeof(sh[0]);
		eh.e_shnum = (uint16_t)n;
		eh.e_shstrndx = 3;
	}
	ew_put(fd, 0, &eh, sizeof(eh));
	ew_put(fd, sizeof(eh), ph, sizeof(ph));
	ew_put(fd, EW_TEXT, w->text, sizeof(w->text));
	ew_put(fd, EW_DATA, w->data, sizeof(w->data));
	ew_put(fd, EW_AT_SYM, w->sym, w->sym_n * sizeof(w->sym[0]));
	ew_put(fd, EW_AT_STR, w->str, w->str_n);
	ew_put(fd, EW_AT_RELA, w->rela, w->rela_n * sizeof(w->rela[0]));
	ew_put(fd, EW_AT_DYN, w->dyn, (w->dyn_n + 1) * sizeof(w->dyn[0]));
	ew_put(fd, EW_AT_NOTE, w->note, sizeof(w->note));
	ew_put(fd, EW_AT_SH, sh, sizeof(sh));
	ew_put(fd, EW_AT_CONST, w->constants, w->const_n);
	return fd;
}

#endif
