/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what the dynamic section says of how a file is loaded. With this, the kernel program can
 * find libpython in a new process by itself (bpf/process/linked.bpf.h).
 */
#ifndef ELF_ELF_DYNAMIC_H
#define ELF_ELF_DYNAMIC_H

#include "elf/elf_file.h"

struct elf_dynamic {
	uint64_t vaddr; /* p_vaddr of the dynamic section; 0: the file has none */
	/* check_dynamic(), a hash over the first entries of the dynamic section */
	uint64_t check;
	/* p_vaddr of the value of DT_DEBUG; 0: there is no DT_DEBUG, as in a library */
	uint64_t debug_slot;
	bool linked;	   /* the file needs other libraries */
	bool needs_python; /* one of the needed libraries is called libpython* */
	/* path of the dynamic loader; "": the file names none (a static program, a library) */
	char loader[128];
};

void elf_file_dynamic(struct elf_file *f, struct elf_dynamic *ret);

#endif
