/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds a variable for which there is no symbol: decodes the machine code of an exported function
 * that returns the variable. CPython exports such functions, which krait calls accessors:
 * PyInterpreterState_Head (interp_head) and PyGILState_GetThisThreadState (the key of the thread's
 * state; since 3.15 a thread-local variable). Such a function has a dozen instructions, in one of a
 * few forms. A function of any other form gives ACCESS_NONE.
 */
#ifndef PYTHON_FIND_ACCESSOR_H
#define PYTHON_FIND_ACCESSOR_H

#include "elf/elf_file.h"

enum access {
	ACCESS_NONE = 0,
	ACCESS_GLOBAL, /* the accessor returns the pointer at .addr */
	/* the accessor returns the value of the pthread key whose number, an int, is at .addr */
	ACCESS_KEY,
	/*
	 * the accessor calls another function with the address .addr and returns that function's
	 * result
	 */
	ACCESS_ARGUMENT,
	ACCESS_TLS, /* the accessor returns *(thread pointer + .offset) */
	/*
	 * the accessor returns *(TLS block + .offset); the GOT pair {module, offset} at .addr says
	 * which block
	 */
	ACCESS_TLS_PAIR,
	/*
	 * the accessor returns a thread-local variable through a TLS descriptor; the loader fills
	 * the word at .addr, see PY_TSS_TLS_WORD
	 */
	ACCESS_TLS_DESC,
};

struct accessor {
	enum access kind;
	uint64_t addr; /* an address in the ELF file, without the load bias */
	int64_t offset;
};

/*
 * Decodes the function at @vaddr. Never fails: a function that krait doesn't understand gives
 * ACCESS_NONE.
 */
struct accessor accessor_read(struct elf_file *elf, uint64_t vaddr);

/*
 * Each of these decodes the function at @vaddr for one machine; accessor_read() chooses the right
 * one. @n: size of @code in bytes.
 */
struct accessor accessor_x86(struct elf_file *elf, const uint8_t *code, size_t n, uint64_t vaddr);
struct accessor accessor_arm64(struct elf_file *elf, const uint8_t *code, size_t n, uint64_t vaddr);

#endif
