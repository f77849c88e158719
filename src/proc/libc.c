/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out where a C library keeps a thread's pthread keys. glibc says so itself, in its
 * descriptors for libthread_db (nptl_db/structs.def). The descriptor of a field of struct pthread
 * is {u32 bits of an element, u32 number of elements, s32 offset}. musl has no descriptors, but its
 * pthread_getspecific() is two loads and an add, and one load has the offset in its code.
 */
#include "proc/libc.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "elf/elf_file.h"
#include "proc/files/files.h"

/* glibc's PTHREAD_KEY_2NDLEVEL_SIZE: number of elements of specific_1stblock */
#define KEYS_1STBLOCK 32
/* size of an element of specific_1stblock, struct pthread_key_data {uintptr_t seq; void *data} */
#define KEY_BYTES 16

struct usual {
	enum elf_machine machine;
	enum libc_kind kind;
	int32_t tsd_offset, self_offset;
};

/*
 * The usual offsets, for glibc 2.17 to 2.43 and musl 1.2 (struct pthread in their sources). On
 * x86-64 struct pthread begins at the thread pointer; on AArch64 it ends there, and has 1,824 or
 * 1,856 bytes in glibc, 200 in musl.
 */
static const struct usual usual[] = {
	{ELF_X86_64, LIBC_GLIBC, 0x310, 0},
	{ELF_X86_64, LIBC_MUSL, 0x80, 0},
	{ELF_AARCH64, LIBC_GLIBC, -1552, -1824},
	{ELF_AARCH64, LIBC_MUSL, -88, -200},
};

static struct libc_info usual_of(enum libc_kind kind, enum elf_machine machine)
{
	struct libc_info ret = {.kind = kind};

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		if (usual[i].machine != machine || usual[i].kind != kind)
			continue;
		ret.tsd_offset = usual[i].tsd_offset;
		ret.self_offset = usual[i].self_offset;
	}
	return ret;
}

struct libc_info libc_default(enum libc_kind kind)
{
#ifdef __aarch64__
	return usual_of(kind, ELF_AARCH64);
#else
	return usual_of(kind, ELF_X86_64);
#endif
}

/* Is this glibc's file? It is called "libc.so.6", or up to 2.33 "libc-2.31.so" and the like. */
static bool is_glibc_file(const char *base, const char *lib, const char *soname)
{
	size_t n = strlen(lib);

	return streq(base, soname) ||
	       (!strncmp(base, lib, n) && str_starts(base + n, "-2.") && str_ends(base, ".so"));
}

const struct mapping *libc_find(const struct maps *m, enum libc_kind *ret,
				const struct mapping **ret_threads)
{
	const struct mapping *libc = NULL, *threads = NULL;

	*ret = LIBC_NONE;
	vec_foreach(e, &m->list) {
		const char *base = path_base(maps_path(m, e));

		if (!e->ino || !(e->prot & PROT_EXEC))
			continue;
		if (!threads && is_glibc_file(base, "libpthread", "libpthread.so.0"))
			threads = e;
		if (libc)
			continue;
		if (is_glibc_file(base, "libc", "libc.so.6"))
			*ret = LIBC_GLIBC;
		else if (str_starts(base, "ld-musl-") || str_starts(base, "libc.musl-") ||
			 /*
			  * Debian's musl is called libc.so; glibc's libc.so is a linker script,
			  * which no process maps
			  */
			 streq(base, "libc.so"))
			*ret = LIBC_MUSL;
		else
			continue;
		libc = e;
	}
	if (ret_threads)
		*ret_threads = *ret == LIBC_GLIBC ? threads : NULL;
	return libc;
}

static bool read_u32(const struct elf_file *f, const struct elf_symbol *s, uint32_t *ret, size_t n)
{
	return s->value && elf_file_read(f, s->value, ret, n * sizeof(*ret)) == n * sizeof(*ret);
}

static bool learn_glibc(struct elf_file *f, struct libc_info *ret)
{
	struct elf_symbol at_specific, at_size;
	uint32_t specific[3], size;

	/*
	 * the symbol is in .dynsym of libc.so.6 (GLIBC_PRIVATE) since 2.34, and in .symtab of
	 * libpthread.so.0 before
	 */
	if (!elf_file_symbol(f, "_thread_db_pthread_specific", &at_specific) ||
	    !elf_file_symbol(f, "_thread_db_sizeof_pthread", &at_size) ||
	    !read_u32(f, &at_specific, specific, 3) || !read_u32(f, &at_size, &size, 1))
		return false;
	/*
	 * the table has 32 pointers, which the descriptor calls one element of 2,048 bits (2.41) or
	 * 32 elements; krait knows no other table
	 */
	if ((uint64_t)specific[0] * specific[1] != 64 * 32 || size > 1u << 16 ||
	    specific[2] >= size || specific[2] < KEYS_1STBLOCK * KEY_BYTES || specific[2] % 8)
		return false;
	/* In struct pthread, specific_1stblock lies right before specific (nptl/descr.h). */
	ret->self_offset = elf_file_machine(f) == ELF_AARCH64 ? -(int32_t)size : 0;
	ret->tsd_offset = ret->self_offset + (int32_t)specific[2] - KEYS_1STBLOCK * KEY_BYTES;
	return true;
}

/*
 * Reads DISP from the x86-64 code mov %fs:0,%rax; mov DISP(%rax),%rax. Its bytes are "64 48 8b 04
 * 25 00000000 48 8b 40" and 8 bits of DISP, or "... 80" and 32 bits of DISP.
 */
static bool learn_musl(struct elf_file *f, struct libc_info *ret)
{
	static const uint8_t self[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0};
	struct elf_symbol sym;
	uint8_t code[48];
	const uint8_t *p;
	int32_t disp;
	size_t n;

	if (elf_file_machine(f) != ELF_X86_64 || !elf_file_symbol(f, "pthread_getspecific", &sym))
		return false;
	n = elf_file_read(f, sym.value, code, sizeof(code));
	p = memmem(code, n, self, sizeof(self));
	if (!p || code + n - p < (long)sizeof(self) + 7)
		return false;
	p += sizeof(self);
	if (p[0] != 0x48 || p[1] != 0x8b || (p[2] != 0x40 && p[2] != 0x80))
		return false;
	if (p[2] == 0x40)
		disp = (int8_t)p[3];
	else
		memcpy(&disp, p + 3, sizeof(disp));
	if (disp <= 0 || disp > 4096 || disp % 8)
		return false;
	ret->tsd_offset = disp;
	return true;
}

/* Finds out which C library was linked into a static executable, if the executable has symbols. */
static enum libc_kind linked_in(struct elf_file *f)
{
	struct elf_symbol sym;

	if (elf_file_symbol(f, "_thread_db_pthread_specific", &sym) ||
	    elf_file_symbol(f, "__libc_setup_tls", &sym))
		return LIBC_GLIBC;
	return elf_file_symbol(f, "__init_libc", &sym) ? LIBC_MUSL : LIBC_NONE;
}

struct libc_info libc_read(int fd, enum libc_kind kind)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	struct libc_info ret = libc_default(kind);

	if (elf_file_open(fd, "C library", &f))
		return ret;
	if (kind == LIBC_NONE)
		kind = linked_in(f);
	ret = usual_of(kind, elf_file_machine(f));
	if (kind == LIBC_GLIBC)
		ret.learnt = learn_glibc(f, &ret);
	else if (kind == LIBC_MUSL)
		ret.learnt = learn_musl(f, &ret);
	return ret;
}

/*
 * Reads the C library from the file that is mapped at @m. @m NULL: from the process's executable,
 * which is static and has the C library in it.
 */
static struct libc_info read_mapping(const struct proc *proc, const struct maps *maps,
				     const struct mapping *m, enum libc_kind kind)
{
	_cleanup_close_ int fd = m ? file_open_mapping(proc->dirfd, m, maps_path(maps, m), NULL)
				   : file_open_exe(proc->dirfd);

	return fd >= 0 ? libc_read(fd, kind) : libc_default(kind);
}

int libc_of_process(const struct proc *proc, const struct maps *maps, bool linked,
		    struct libc_info *ret)
{
	enum libc_kind kind = LIBC_NONE;
	const struct mapping *threads = NULL, *m = libc_find(maps, &kind, &threads);

	if (!m && linked)
		return -EAGAIN;
	/* From glibc 2.34 on, libpthread is an empty file; only older programs still load it. */
	*ret = read_mapping(proc, maps, threads ? threads : m, kind);
	if (threads && !ret->learnt)
		*ret = read_mapping(proc, maps, m, kind);
	if (ret->kind == LIBC_NONE)
		*ret = libc_default(LIBC_GLIBC);
	return 0;
}

void libc_set_where(struct py_where *w, const struct libc_info *info)
{
	w->tsd_offset = info->tsd_offset;
	w->stack_waits = info->kind == LIBC_MUSL;
	w->self_offset = info->self_offset;
	if (info->kind == LIBC_MUSL && w->tss == PY_TSS_KEY_GLIBC)
		w->tss = PY_TSS_KEY_MUSL;
	if (info->kind == LIBC_MUSL && w->tss == PY_TSS_TLS_DTV)
		w->tss = PY_TSS_TLS_DTV_MUSL;
}
