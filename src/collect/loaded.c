/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dynamic loader's own list of what it loaded, to whose end it adds: struct r_debug and struct link_map, which debuggers
 * use (<link.h>, of glibc and musl). Addresses don't tell the order: they grow downwards or upwards (the legacy layout, ulimit
 * -s unlimited), and a file may lie where another one was.
 */
#include "collect/loaded.h"

#include <elf.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "proc/stat.h"
#include "python/peek.h"

#define AUXV_BYTES	4096
#define PHDRS_MOST	64
#define DYNAMIC_MOST	256
#define FILES_MOST	4096
#define NAMESPACES_MOST 16 /* glibc: DL_NNS */

/* As the process has them. .next: from the first one's .version 2 on, another namespace's. */
struct debug {
	uint64_t version, files, brk, state, loader, next;
};
struct file {
	uint64_t bias, name, dynamic, next;
};

static bool read_auxv(const struct proc *proc, uint64_t *phdrs, uint64_t *n)
{
	_cleanup_str_ struct str text = {};
	Elf64_auxv_t at;

	*phdrs = *n = 0;
	if (proc_file_read(proc->dirfd, "auxv", AUXV_BYTES, &text))
		return false;
	for (size_t i = 0; i + sizeof(at) <= text.n; i += sizeof(at)) {
		memcpy(&at, text.s + i, sizeof(at));
		if (at.a_type == AT_PHDR)
			*phdrs = at.a_un.a_val;
		else if (at.a_type == AT_PHNUM)
			*n = at.a_un.a_val;
	}
	return *phdrs && *n && *n <= PHDRS_MOST;
}

/* Address of the program's dynamic section; 0: it has none. */
static uint64_t find_dynamic(const struct proc *proc)
{
	Elf64_Phdr phdrs[PHDRS_MOST];
	uint64_t at, n, bias = 0, dynamic = 0;

	if (!read_auxv(proc, &at, &n) || peek(proc->tgid, at, phdrs, n * sizeof(*phdrs)))
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (phdrs[i].p_type == PT_PHDR)
			bias = at - phdrs[i].p_vaddr;
		else if (phdrs[i].p_type == PT_DYNAMIC)
			dynamic = phdrs[i].p_vaddr;
	}
	return dynamic ? dynamic + bias : 0;
}

/* Address of the loader's struct r_debug; 0: it isn't known (yet). */
static uint64_t find_debug(const struct proc *proc)
{
	uint64_t at = find_dynamic(proc);
	Elf64_Dyn d;

	for (size_t i = 0; at && i < DYNAMIC_MOST; i++) {
		if (peek(proc->tgid, at + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_DEBUG)
			return d.d_un.d_ptr;
	}
	return 0;
}

/* One namespace's list. *number: of the next file. */
static void number_files(const struct proc *proc, uint64_t at, const uint64_t *bias, size_t n,
			 uint32_t *number, uint32_t *order)
{
	struct file f;

	for (; at && *number < FILES_MOST; at = f.next, ++*number) {
		if (peek(proc->tgid, at, &f, sizeof(f)))
			break;
		for (size_t i = 0; i < n; i++)
			if (f.bias == bias[i] && order[i] == LOADED_UNKNOWN)
				order[i] = *number;
	}
}

void loaded_order(const struct proc *proc, const uint64_t *bias, size_t n, uint32_t *order)
{
	uint64_t at = find_debug(proc);
	bool several = false; /* the first one's version says it of all */
	uint32_t number = 0;

	for (size_t i = 0; i < n; i++)
		order[i] = LOADED_UNKNOWN;
	for (int i = 0; at && i < NAMESPACES_MOST; i++) {
		struct debug d = {};

		if (peek(proc->tgid, at, &d, offsetof(struct debug, next)))
			break;
		number_files(proc, d.files, bias, n, &number, order);
		several |= (uint32_t)d.version >= 2;
		at = several && !peek(proc->tgid, at, &d, sizeof(d)) ? d.next : 0;
	}
}
