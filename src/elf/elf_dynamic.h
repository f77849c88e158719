/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the dynamic section says of how a file is loaded. This is enough for the kernel program to
 * find libpython in a new process by itself (bpf/process/linked.bpf.h).
 */
#ifndef ELF_ELF_DYNAMIC_H
#define ELF_ELF_DYNAMIC_H

#include "elf/elf_file.h"

struct elf_dynamic {
	uint64_t vaddr;	     /* p_vaddr of the dynamic section; 0 = there is none */
	uint64_t check;	     /* check_dynamic() over the first entries of the dynamic section */
	uint64_t debug_slot; /* p_vaddr of DT_DEBUG's value; 0: there is none, as in a library */
	bool linked;	     /* the file needs other libraries */
	bool needs_python;   /* one of the needed libraries is called libpython* */
	/* path of the dynamic loader; "": there is none (a static program, a library) */
	char loader[128];
};

void elf_file_dynamic(struct elf_file *f, struct elf_dynamic *ret);

#endif
