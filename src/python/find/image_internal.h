/* SPDX-License-Identifier: BSD-2-Clause */
/* What is shared by the files that look for an interpreter in an ELF file. */
#ifndef PYTHON_FIND_IMAGE_INTERNAL_H
#define PYTHON_FIND_IMAGE_INTERNAL_H

#include "elf/elf_file.h"
#include "python/find/image.h"
#include "python/layout/tables.h"

/* clang-format off */
/* The symbols that krait looks up in a file, all in one search: X(name). */
#define IMAGE_SYMBOLS(X)                                                                           \
	X(_PyRuntime)		       /* 3.7+, exported: the runtime's state */                   \
	X(Py_Version)		       /* 3.11+, exported: the version */                          \
	X(PyCode_Type)                                                                             \
	X(PyGILState_GetThisThreadState)                                                           \
	X(PyInterpreterState_Head)                                                                 \
	X(_PyThreadState_Current)      /* <= 3.6, exported: the running thread's state */          \
	X(interp_head)		       /* <= 3.6, local: the list of interpreters */               \
	X(autoTLSkey)		       /* <= 3.6, local: the key that leads to thread states */	   \
	X(interpreter_lock)	       /* 2.7, local: the lock that is the GIL */                  \
	X(gil_locked)		       /* 3.6, local; variables of the GIL: this and 5 more */     \
	X(gil_last_holder)                                                                         \
	X(gil_cond)                                                                                \
	X(gil_mutex)                                                                               \
	X(switch_cond)                                                                             \
	X(switch_mutex)                                                                            \
	X(PyString_Type)	       /* only Python 2 has this symbol */			   \
	X(_Py_RefTotal)		       /* only in builds with Py_REF_DEBUG, up to 3.11 */	   \
	X(_Py_GetRefTotal)	       /* only in builds of 3.x with Py_REF_DEBUG */		   \
	X(rpython_startup_code)	       /* only PyPy has this symbol */				   \
	X(pypy_main_startup)                                                                       \
	X(pypy_setup_home)                                                                         \
	X(pypy_thread_attach)	       /* takes PyPy's GIL */					   \
	X(mp_execute_bytecode)	       /* the evaluation loop of MicroPython, unless stripped */   \
	X(Ci_cinderx_initialized)      /* Cinder 3.10 and 3.12 */                                  \
	X(_PyEval_ShadowByteCodeEnabled) /* Cinder 3.8 and 3.10 */                                 \
	X(_Py_RecursionLimitLowerWaterMark_Precomputed) /* Pyston 2 */                             \
	X(graal_create_isolate)	       /* in each library that GraalVM's native-image makes */
/* clang-format on */

enum image_symbol {
#define X(name) SYM_##name,
	IMAGE_SYMBOLS(X)
#undef X
		SYM_MAX
};

/* What is known of an ELF file while an interpreter is looked for in it. */
struct image_ctx {
	struct elf_file *elf;
	/* the symbols of IMAGE_SYMBOLS; a symbol that the file doesn't have is all zero */
	struct elf_symbol sym[SYM_MAX];
	uint64_t runtime;      /* vaddr of _PyRuntime; 0: the file has none */
	uint64_t runtime_size; /* size of _PyRuntime; 0: not known */
	struct py_image *image;
};

/* Does the file have the variables with CPython's state? Then it holds an interpreter. */
bool image_has_runtime(const struct image_ctx *c);

/*
 * Both return the name of the interpreter in the file, if it is one that krait knows and that isn't
 * CPython itself; else NULL. image_other_by_symbol() decides by the file's symbols.
 * image_other_by_name() decides by the file's name, for a file without CPython.
 */
const char *image_other_by_symbol(const struct image_ctx *c);
const char *image_other_by_name(const struct image_ctx *c, const char *path);

/*
 * Returns by how many bytes the GIL's two mutexes together are larger than on x86-64: 16 on AArch64
 * with glibc, else 0.
 */
unsigned image_mutex_growth(struct image_ctx *c);

/*
 * Returns PY_VERSION_HEX of a file without debug offsets, as far as the file shows it (Py_Version,
 * names, strings, size of _PyRuntime); 0: not known. The low 16 bits are 0 if the patch level isn't
 * known.
 */
uint32_t image_version(struct image_ctx *c);

/*
 * Reads a version, "3.8", after the first @prefix in the last part of the path @name. Returns major
 * << 8 | minor; 0: the name has no version at that place.
 */
unsigned image_version_after(const char *name, const char *prefix);

/*
 * Sets the addresses in image->where at which a walk starts, by the image's version, or sets
 * image->unsupported.
 */
void image_roots(struct image_ctx *c);

/*
 * Fills the fields of image->where about the GIL. The other fields of image->where must have been
 * filled before.
 */
void image_gil(struct image_ctx *c);

/* For 3.12: sets image->where.codes_made, the address of the variable that counts code objects. */
void image_counter_symbol(struct image_ctx *c);

/*
 * For 3.13 and later: sets image->where.codes_made, the address of the variable that counts code
 * objects.
 */
void image_counter_value(struct image_ctx *c, const struct py_debug_offsets *d);

/*
 * Compares the layout with PyCode_Type's own description. Adapts the layout to Py_TRACE_REFS, or
 * sets image->unsupported if layout and description differ.
 */
void image_check(struct image_ctx *c);

/*
 * Finds PyCode_Type, if it has no symbol (3.11+), by the members that it describes. Returns 0 if it
 * isn't found.
 */
uint64_t image_find_code_type(struct image_ctx *c);

/*
 * Returns the address in the file of the word that holds PyPy's GIL: the pthread_self() of the
 * thread that has the GIL, 0 while no thread has it. 0: it isn't found.
 */
uint64_t image_pypy_gil(struct image_ctx *c);

/*
 * Finds _PyRuntime, if it has no symbol or section (3.13+), by the cookie at its start. Returns 0
 * if it isn't found.
 */
uint64_t image_find_cookie(struct image_ctx *c);

/* Goes through the initialised writable data of a file, block by block. */
struct image_scan {
	struct elf_file *elf;
	size_t load;
	uint64_t vaddr; /* address in the file of the block in .bytes */
	size_t n;	/* number of bytes in the present block */
	uint64_t left;	/* how many bytes of the file may still be read in this search */
	uint8_t bytes[32768];
};

void image_scan_init(struct image_scan *s, struct elf_file *elf);
/* Goes on to the next block; false: no block is left. */
bool image_scan_next(struct image_scan *s);

/* Notes in @image, once, why krait can't profile the interpreter. */
void image_unsupported(struct py_image *image, const char *fmt, ...) _printf_(2, 3);

#endif
