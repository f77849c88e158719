/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CPython found inside an ELF file: which version, how it lays out its structures, where its
 * roots lie. Learnt once per file (by build id, else device, inode, mtime); one process adds only
 * its load bias. Input is hostile: everything is bounded and checked.
 */
#ifndef PYTHON_IMAGE_H
#define PYTHON_IMAGE_H

#include "base/util.h"
#include "layout.h"

struct py_image {
	uint32_t hex_version; /* PY_VERSION_HEX, e.g. 0x030d12f0; patch level 0 where unknown */
	struct py_layout layout;
	struct py_where where; /* addresses as in the file (add the load bias); .layout unused */
	uint64_t code_type;    /* address of PyCode_Type, as in the file */
	bool free_threaded, debug;
	bool exec_fixed;      /* ET_EXEC: bias 0 */
	uint64_t start_vaddr; /* lowest p_vaddr of an executable PT_LOAD (kernel's mm.start_code) */
	char unsupported[128]; /* why it can't be profiled ("PyPy 3.11", "free-threaded 3.13"); "" =
				  it can */
};

/*
 * Looks for an interpreter in the ELF file @fd (any position; not closed). @name is its path for
 * version hints (libpython3.8.so.1.0) and messages. Returns 1 and fills @ret (also when it is an
 * interpreter that isn't understood: ret->unsupported says why), 0 if there is no interpreter in
 * it, -errno with a message if the file is broken.
 */
_must_use_ int py_image_read(int fd, const char *name, struct py_image *ret);

#endif
