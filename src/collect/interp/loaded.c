/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order in which the dynamic loader loaded files. This order is in the list that the loader
 * keeps for debuggers: struct r_debug and struct link_map (<link.h> of glibc and musl). Addresses
 * don't show the order: they grow downwards or upwards (the legacy layout, ulimit -s unlimited),
 * and a file may lie where another file was before.
 */
#include "collect/interp/loaded.h"

#include <elf.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/text/str.h"
#include "proc/read/reader.h"
#include "proc/read/stat.h"
#include "python/heap/peek.h"

#define AUXV_BYTES	4096
#define PHDRS_MOST	64
#define DYNAMIC_MOST	256
#define FILES_MOST	1024
#define NAMESPACES_MOST 16 /* the most namespaces that a dynamic loader has (DL_NNS of glibc) */
/* the most time that all reads together may take, because the main thread waits for them */
#define MOST_NS (100 * NSEC_PER_MSEC)

/*
 * struct r_debug and struct link_map of a 64-bit process. debug.next points to the struct debug of
 * the next namespace. This member exists only if .version in the first namespace's struct is at
 * least 2.
 */
struct debug {
	uint64_t version, files, brk, state, loader, next;
};
struct file {
	uint64_t bias, name, dynamic, next;
};

/*
 * What a child process of krait is asked to find out by reading the target's memory, and its
 * answer.
 */
struct question {
	uint64_t phdrs, n_phdrs, n;
	uint64_t bias[LOADED_MOST];
	uint32_t order[LOADED_MOST];
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

/* Returns the address of the program's dynamic section; 0: the program has none. */
static uint64_t find_dynamic(pid_t pid, const struct question *q)
{
	Elf64_Phdr phdrs[PHDRS_MOST];
	uint64_t bias = 0, dynamic = 0;

	if (peek(pid, q->phdrs, phdrs, q->n_phdrs * sizeof(*phdrs)))
		return 0;
	for (size_t i = 0; i < q->n_phdrs; i++) {
		if (phdrs[i].p_type == PT_PHDR)
			bias = q->phdrs - phdrs[i].p_vaddr;
		else if (phdrs[i].p_type == PT_DYNAMIC)
			dynamic = phdrs[i].p_vaddr;
	}
	return dynamic ? dynamic + bias : 0;
}

/* Returns the address of the loader's struct r_debug; 0: the address isn't known (yet). */
static uint64_t find_debug(pid_t pid, const struct question *q, uint64_t until_ns)
{
	uint64_t at = find_dynamic(pid, q);
	Elf64_Dyn d;

	for (size_t i = 0; at && i < DYNAMIC_MOST; i++) {
		if (clock_ns(CLOCK_MONOTONIC) >= until_ns ||
		    peek(pid, at + i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_DEBUG)
			return d.d_un.d_ptr;
	}
	return 0;
}

/*
 * Numbers the files in the list of one namespace, from *number on. Sets *number to the next free
 * number. False: the list breaks off or has no end.
 */
static bool number_files(pid_t pid, struct question *q, uint64_t at, uint32_t *number,
			 uint64_t until_ns)
{
	struct file f;

	for (; at; at = f.next, ++*number) {
		if (*number >= FILES_MOST || clock_ns(CLOCK_MONOTONIC) >= until_ns ||
		    peek(pid, at, &f, sizeof(f)))
			return false;
		for (size_t i = 0; i < q->n; i++)
			if (f.bias == q->bias[i] && q->order[i] == LOADED_UNKNOWN)
				q->order[i] = *number;
	}
	return true;
}

static bool number_all(pid_t pid, struct question *q)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + MOST_NS;
	uint64_t at = find_debug(pid, q, until_ns);
	/*
	 * whether struct debug has .next; the version in the first namespace's struct tells this
	 * for all namespaces
	 */
	bool several = false;
	uint32_t number = 0;

	for (int i = 0; at && i < NAMESPACES_MOST; i++) {
		struct debug d = {};

		if (peek(pid, at, &d, offsetof(struct debug, next)) ||
		    !number_files(pid, q, d.files, &number, until_ns))
			return false;
		several |= (uint32_t)d.version >= 2;
		if (several && peek(pid, at, &d, sizeof(d)))
			return false;
		at = d.next;
	}
	return !at;
}

static void forget(uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = LOADED_UNKNOWN;
}

/*
 * A reader_task (proc/read/reader.h), which runs in a child process: finds what the struct question
 * in @bytes asks for.
 */
static ssize_t number_asked(pid_t pid, void *bytes, size_t most)
{
	struct question *q = bytes;

	(void)most;
	forget(q->order, q->n);
	if (!number_all(pid, q))
		forget(q->order, q->n);
	return sizeof(*q);
}

void loaded_order(const struct proc *proc, const uint64_t *bias, size_t n, uint32_t *order)
{
	struct question q = {.n = MIN(n, (size_t)LOADED_MOST)};

	forget(order, n);
	memcpy(q.bias, bias, q.n * sizeof(*bias));
	if (read_auxv(proc, &q.phdrs, &q.n_phdrs) &&
	    reader_run(proc->tgid, -1, number_asked, &q, sizeof(q), sizeof(q)) == sizeof(q))
		memcpy(order, q.order, q.n * sizeof(*order));
}
