/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the machine code of an exported accessor function says about a variable that has no symbol
 * left. CPython exports functions that do nothing but return one variable: PyInterpreterState_Head
 * (interp_head), PyGILState_GetThisThreadState (the key of the thread's state; from 3.15 on a
 * thread-local variable). Such a function is a dozen instructions of a few forms; anything else
 * gives ACCESS_NONE.
 */
#ifndef PYTHON_ACCESSOR_H
#define PYTHON_ACCESSOR_H

#include "elf/elf_file.h"

enum access {
	ACCESS_NONE = 0,
	ACCESS_GLOBAL,	 /* returns the pointer at addr */
	ACCESS_KEY,	 /* returns the value of the pthread key whose int number is at addr */
	ACCESS_ARGUMENT, /* returns what another function makes of the object at addr */
	ACCESS_TLS,	 /* returns *(thread pointer + offset) */
	ACCESS_TLS_PAIR, /* *(block of the GOT pair {module, offset} at addr + offset) */
	ACCESS_TLS_DESC, /* the loader fills the word at addr, see PY_TSS_TLS_WORD; + offset */
};

struct accessor {
	enum access kind;
	uint64_t addr; /* as in the file */
	int64_t offset;
};

/* Reads the function at @vaddr. Never fails: what isn't understood is ACCESS_NONE. */
struct accessor accessor_read(struct elf_file *elf, uint64_t vaddr);

/* Per machine; accessor_read() chooses. @n bytes of code at @vaddr. */
struct accessor accessor_x86(struct elf_file *elf, const uint8_t *code, size_t n, uint64_t vaddr);
struct accessor accessor_arm64(struct elf_file *elf, const uint8_t *code, size_t n, uint64_t vaddr);

#endif
