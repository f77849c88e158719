/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens an ELF file: reads its header and program headers. Program headers are read once, when the
 * file is opened. Only they say which part of the file lies where in a process's memory. Section
 * headers may be missing or wrong.
 */
#include <elf.h>
#include <unistd.h>
#include "base/error.h"
#include "base/system/far.h"
#include "elf/elf_sections.h"

#define LOADS_MAX 1024 /* the most PT_LOADs of a file; BOLT and sanitizers make about a dozen */

static int add_segment(struct elf_file *f, const GElf_Phdr *ph)
{
	struct elf_load load = {
		.vaddr = ph->p_vaddr,
		.offset = ph->p_offset,
		.filesz = MIN(ph->p_filesz, ph->p_memsz),
		.memsz = ph->p_memsz,
		.exec = ph->p_flags & PF_X,
		.write = ph->p_flags & PF_W,
	};

	if (ph->p_type == PT_INTERP)
		f->is_program = true;
	if (ph->p_type != PT_LOAD || !ph->p_memsz || f->loads.n >= LOADS_MAX)
		return 0;
	/*
	 * A segment that wraps around can't be loaded. It is left out, so that other code needn't
	 * check for overflows.
	 */
	if (load.vaddr + load.memsz < load.vaddr || load.offset + load.filesz < load.offset)
		return 0;
	return vec_push(&f->loads, load);
}

static int read_segments(struct elf_file *f)
{
	size_t n;

	if (elf_getphdrnum(f->elf, &n) < 0)
		return err_set(-ENOEXEC, "%s: program headers are broken: %s", f->name,
			       elf_errmsg(-1));
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;
		int r;

		if (!gelf_getphdr(f->elf, (int)i, &ph))
			return err_set(-ENOEXEC, "%s: program header %zu is broken", f->name, i);
		r = add_segment(f, &ph);
		if (r)
			return err_sys(r, "%s", f->name);
	}
	return 0;
}

/*
 * Does the file claim too many section headers or program headers? A number of headers that doesn't
 * fit into the file's header is stored in the header of section 0 (gABI).
 */
static bool has_too_many_headers(int fd)
{
	Elf64_Ehdr eh;
	Elf64_Shdr first;

	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || !eh.e_shoff ||
	    (eh.e_shnum && eh.e_phnum != PN_XNUM))
		/*
		 * Either libelf will refuse the file, or both numbers of headers are in the file's
		 * header. There each number has two bytes, and so isn't too large.
		 */
		return false;
	return pread(fd, &first, sizeof(first), (off_t)eh.e_shoff) == sizeof(first) &&
	       (first.sh_size > HEADERS_MAX || first.sh_info > HEADERS_MAX);
}

/*
 * Fetches the headers, which libelf reads as soon as it opens a file. False: the file system
 * doesn't answer. Nothing has to be fetched unless the file is on a file system that may not answer
 * (base/system/far.h).
 */
static bool headers_come(int fd)
{
	Elf64_Ehdr eh = {};
	Elf64_Shdr first = {};
	uint64_t segments, sections;

	if (!far_is(fd))
		return true;
	if (!far_fetch(fd, 0, sizeof(eh)) || pread(fd, &eh, sizeof(eh), 0) != sizeof(eh))
		return false;
	if (!far_fetch(fd, eh.e_shoff, sizeof(first)))
		return false;
	(void)!pread(fd, &first, sizeof(first), (off_t)eh.e_shoff);
	sections = eh.e_shnum ? eh.e_shnum : MIN(first.sh_size, (uint64_t)HEADERS_MAX);
	segments = eh.e_phnum != PN_XNUM ? eh.e_phnum : MIN(first.sh_info, HEADERS_MAX);
	return far_fetch(fd, eh.e_phoff, segments * sizeof(Elf64_Phdr)) &&
	       far_fetch(fd, eh.e_shoff, sections * sizeof(Elf64_Shdr));
}

Elf *elf_open_bounded(int fd)
{
	return !headers_come(fd) || has_too_many_headers(fd) ? NULL
							     : elf_begin(fd, ELF_C_READ, NULL);
}

static int read_header(struct elf_file *f)
{
	GElf_Ehdr eh;

	f->elf = elf_open_bounded(f->fd);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF || !gelf_getehdr(f->elf, &eh))
		return err_set(-ENOEXEC, "%s: not an ELF file", f->name);
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(-ENOEXEC, "%s: not a 64-bit little-endian ELF file", f->name);
	if (eh.e_machine != EM_X86_64 && eh.e_machine != EM_AARCH64)
		return err_set(-ENOEXEC, "%s: the file is for neither x86-64 nor AArch64", f->name);
	f->machine = eh.e_machine;
	f->is_program = f->is_exec = eh.e_type == ET_EXEC;
	if (elf_getshdrstrndx(f->elf, &f->shstrndx) < 0)
		f->shstrndx = 0;
	return 0;
}

int elf_file_open(int fd, const char *name, struct elf_file **ret)
{
	_cleanup_elf_ struct elf_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return err_sys(-ENOMEM, "%s", name);
	f->copy = far_copy(fd);
	f->fd = f->copy >= 0 ? f->copy : fd;
	f->name = strdup(name);
	if (!f->name)
		return err_sys(-ENOMEM, "%s", name);
	elf_version(EV_CURRENT);
	r = read_header(f);
	if (!r)
		r = read_segments(f);
	if (r)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

void elf_file_free(struct elf_file *f)
{
	if (!f)
		return;
	elf_end(f->elf);
	far_drop(f->copy);
	vec_fini(&f->loads);
	vec_fini(&f->relocs);
	free(f->name);
	free(f);
}

const char *elf_file_name(const struct elf_file *f)
{
	return f->name;
}

enum elf_machine elf_file_machine(const struct elf_file *f)
{
	return f->machine;
}

bool elf_file_is_exec(const struct elf_file *f)
{
	return f->is_exec;
}

bool elf_file_is_program(const struct elf_file *f)
{
	return f->is_program;
}

size_t elf_file_loads(const struct elf_file *f, const struct elf_load **ret)
{
	*ret = f->loads.v;
	return f->loads.n;
}

const struct elf_load *elf_file_text(const struct elf_file *f)
{
	const struct elf_load *first = NULL;

	vec_foreach(load, &f->loads)
		if (load->exec && (!first || load->vaddr < first->vaddr))
			first = load;
	return first;
}

bool elf_file_text_start(const struct elf_file *f, uint64_t *ret)
{
	const struct elf_load *text = elf_file_text(f);

	if (text)
		*ret = text->vaddr;
	return text;
}

static const struct elf_load *load_at(const struct elf_file *f, uint64_t vaddr)
{
	vec_foreach(load, &f->loads) {
		if (vaddr >= load->vaddr && vaddr - load->vaddr < load->memsz)
			return load;
	}
	return NULL;
}

bool elf_file_offset(const struct elf_file *f, uint64_t vaddr, uint64_t *ret)
{
	const struct elf_load *load = load_at(f, vaddr);

	if (!load || vaddr - load->vaddr >= load->filesz)
		return false;
	*ret = load->offset + (vaddr - load->vaddr);
	return true;
}

size_t elf_file_read(const struct elf_file *f, uint64_t vaddr, void *buf, size_t n)
{
	const struct elf_load *load = load_at(f, vaddr);
	uint64_t at, in_file = 0;
	size_t got = 0;

	if (!load)
		return 0;
	at = vaddr - load->vaddr;
	n = MIN((uint64_t)n, load->memsz - at);
	if (at < load->filesz)
		in_file = MIN((uint64_t)n, load->filesz - at);
	if (in_file)
		got = elf_read_at(f, load->offset + at, buf, in_file);
	/*
	 * the file is shorter than its headers say, so a process that uses this memory would get
	 * SIGBUS
	 */
	if (got < in_file)
		return got;
	memset((char *)buf + in_file, 0, n - in_file);
	return n;
}

size_t elf_file_read_constant(const struct elf_file *f, uint64_t vaddr, void *buf, size_t n)
{
	const struct elf_load *load = load_at(f, vaddr);

	return load && !load->write ? elf_file_read(f, vaddr, buf, n) : 0;
}

bool elf_file_read_u64(const struct elf_file *f, uint64_t vaddr, uint64_t *ret)
{
	return elf_file_read(f, vaddr, ret, sizeof(*ret)) == sizeof(*ret);
}
