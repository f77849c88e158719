/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stand-in for a compiler that works at run time, for jit.py and tests/e2e/hostile/laid_out.py,
 * which load it with ctypes. It puts the code of relocatable ELF files where it is told, and
 * registers the files for gdb as LLVM does (llvm/lib/ExecutionEngine/GDBRegistrationListener.cpp).
 * What it registers is a copy of the file in which each section has its address in memory. For
 * .eh_frame this is the address of a relocated copy.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const char *file;
	uint64_t size;
};

struct {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
} __jit_debug_descriptor = {1, 0, 0, 0};

__attribute__((noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

static char *read_file(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *file;

	if (fd < 0 || fstat(fd, &st))
		abort();
	*n = (size_t)st.st_size;
	file = malloc(*n);
	if (read(fd, file, *n) != st.st_size)
		abort();
	close(fd);
	return file;
}

#define EH_FRAME_AT 2048 /* offset of .eh_frame in the page with the code */

/*
 * Copies section @i of @file to @to and applies its relocations. All relocations must be relative
 * to their own address: R_X86_64_PC32, R_AARCH64_PREL32.
 */
static void relocate(char *file, int i, char *to)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)file;
	Elf64_Shdr *s = (Elf64_Shdr *)(file + h->e_shoff);

	memcpy(to, file + s[i].sh_offset, s[i].sh_size);
	s[i].sh_addr = (uintptr_t)to;
	for (int k = 0; k < h->e_shnum; k++) {
		Elf64_Rela *rela = (Elf64_Rela *)(file + s[k].sh_offset);
		Elf64_Sym *symbols = (Elf64_Sym *)(file + s[s[k].sh_link].sh_offset);

		if (s[k].sh_type != SHT_RELA || s[k].sh_info != (Elf64_Word)i)
			continue;
		for (size_t n = s[k].sh_size / sizeof(*rela); n; n--, rela++) {
			Elf64_Sym *sym = &symbols[ELF64_R_SYM(rela->r_info)];
			uint64_t target =
				s[sym->st_shndx].sh_addr + sym->st_value + (uint64_t)rela->r_addend;
			uint32_t value = (uint32_t)(target - (uintptr_t)(to + rela->r_offset));

			memcpy(to + rela->r_offset, &value, sizeof(value));
		}
	}
}

static void put_code(char *file, char *to)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)file;
	Elf64_Shdr *s = (Elf64_Shdr *)(file + h->e_shoff);

	for (int i = 0; i < h->e_shnum; i++) {
		if (!(s[i].sh_flags & SHF_EXECINSTR) || !s[i].sh_size)
			continue;
		memcpy(to, file + s[i].sh_offset, s[i].sh_size);
		s[i].sh_addr = (uintptr_t)to;
	}
}

/*
 * Puts the code of @path at @at, in a mapping of its own, and registers it. Returns the code's
 * entry in gdb's list.
 */
struct jit_code_entry *load(const char *path, void *at)
{
	struct jit_code_entry *e = calloc(1, sizeof(*e));
	char *file = read_file(path, &e->size);
	Elf64_Ehdr *h = (Elf64_Ehdr *)file;
	Elf64_Shdr *s = (Elf64_Shdr *)(file + h->e_shoff);

	if (mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != at)
		abort();
	put_code(file, at);
	for (int i = 0; i < h->e_shnum; i++)
		if (!strcmp(file + s[h->e_shstrndx].sh_offset + s[i].sh_name, ".eh_frame"))
			relocate(file, i, (char *)at + EH_FRAME_AT);
	e->file = file;
	e->next = __jit_debug_descriptor.first;
	if (e->next)
		e->next->prev = e;
	__jit_debug_descriptor.first = __jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		abort();
	return e;
}

/* Takes entry @e out of gdb's list. The entry's code and file stay. */
void unregister(struct jit_code_entry *e)
{
	if (e->prev)
		e->prev->next = e->next;
	else
		__jit_debug_descriptor.first = e->next;
	if (e->next)
		e->next->prev = e->prev;
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = 2;
	__jit_debug_register_code();
}

void unload(struct jit_code_entry *e, void *at)
{
	unregister(e);
	free((void *)e->file);
	free(e);
	munmap(at, 4096);
}

/*
 * Replaces the code at @at by the code of @path, in the same mapping. The new code isn't in gdb's
 * list.
 */
void exchange(const char *path, void *at)
{
	size_t n;
	char *file = read_file(path, &n);

	if (mprotect(at, 4096, PROT_READ | PROT_WRITE))
		abort();
	put_code(file, at);
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		abort();
	free(file);
}

/* Loads @n objects, each into the page after the one before. */
void load_many(const char *path, char *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		load(path, at + i * 4096ul);
}

/* For ever, loads an object and unloads it, with pauses of @us microseconds. */
void come_and_go(const char *path, void *at, unsigned us)
{
	for (;;) {
		struct jit_code_entry *e = load(path, at);

		usleep(us);
		unload(e, at);
		usleep(us);
	}
}
