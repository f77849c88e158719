/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the CPython in an ELF file: its version, the layout of its structures, and the addresses at
 * which a walk of its frames starts. Each file is read once (files are told apart by build id, else
 * by device, inode and mtime). For a process only the load bias is added. The file may hold
 * anything, so everything is bounded and checked.
 */
#ifndef PYTHON_FIND_IMAGE_H
#define PYTHON_FIND_IMAGE_H

#include "base/util.h"
#include "layout.h"

struct py_image {
	/* PY_VERSION_HEX, such as 0x030d12f0; patch level 0 if it isn't known */
	uint32_t hex_version;
	struct py_layout layout;
	/*
	 * addresses of the interpreter's variables in the file, without the load bias; the member
	 * .layout isn't used
	 */
	struct py_where where;
	uint64_t code_type; /* address of PyCode_Type in the file */
	bool free_threaded, debug;
	bool exec_fixed; /* whether the file is ET_EXEC, so that its load bias is 0 */
	/* lowest p_vaddr of the file's executable PT_LOADs (the kernel's mm.start_code) */
	uint64_t start_vaddr;
	/*
	 * why krait can't profile the interpreter, such as "PyPy 3.11" or "free-threaded 3.13"; "":
	 * krait can
	 */
	char unsupported[128];
	/*
	 * address in the file of the word that holds PyPy's GIL, for a PyPy whose frames `krait
	 * dump` may be able to read; 0: the file isn't such a PyPy. .unsupported is set, too.
	 */
	uint64_t pypy_gil;
};

/*
 * Looks for an interpreter in the ELF file @fd. The descriptor's position doesn't matter, and @fd
 * isn't closed. @name: its path, for messages and for hints at the version (libpython3.8.so.1.0).
 * 1: the file has an interpreter, and @ret is filled. If krait doesn't understand the interpreter,
 * ret->unsupported says why. 0: the file has no interpreter. -errno with a message: the file is
 * broken.
 */
_must_use_ int py_image_read(int fd, const char *name, struct py_image *ret);

#endif
