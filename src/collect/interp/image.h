/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that may hold an interpreter: each file is looked into once. */
#ifndef COLLECT_INTERP_IMAGE_H
#define COLLECT_INTERP_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/common/state.h"
#include "elf/elf_dynamic.h"
#include "proc/read/maps.h"
#include "proc/proc.h"
#include "python/find/image.h"
#include "records.h"

struct collect;

/*
 * What stat() says of a file, which identifies the file and its contents. A mapping's device and
 * inode aren't enough: several files of an overlayfs may show the same device and inode.
 */
struct file_version {
	uint64_t dev, ino;
	int64_t mtime_ns, bytes;
};

/* What was found in one ELF file. .dev and .ino are the numbers that mappings of the file show. */
struct image_file {
	uint64_t dev, ino;
	int fd; /* descriptor of the file; -1: the file isn't held open */
	struct file_version version;
	uint64_t checked_ns; /* when image_known() last compared .version (CLOCK_MONOTONIC) */
	/* the kernel programs know that a process of this executable is Python */
	bool is_known_program;
	bool is_python;
	struct py_image image; /* the interpreter in the file; set if .is_python */
	struct elf_dynamic dynamic;
	/* vaddr and file offset of the file's executable PT_LOAD with the lowest p_vaddr */
	uint64_t text_start, text_offset;
	/* the file is ET_EXEC: the loader maps it at the addresses in its program headers */
	bool exec_fixed;
};

/* The files that were looked into for an interpreter. */
struct images {
	/* the files; pointers to them stay valid when files are added */
	VEC(struct image_file *) files;
	struct map index; /* file_key() -> 1 + index in .files of the latest file with this key */
	/* numbers of processes that image_left_out() has counted */
	struct map others;
	unsigned held; /* how many files have an open .fd */
	/* the interpreter for which collect_examine() last returned -ENOTSUP */
	char refused[sizeof(((struct py_image *)0)->unsupported)];
	/* if that is a PyPy: the address of its GIL in the process (py_image.pypy_gil), or 0 */
	uint64_t pypy_gil;
};

/* Makes the state of this folder. False: out of memory. */
_must_use_ bool images_init(struct collect *c);
void images_fini(struct collect *c);

/*
 * file_key(): returns a key made of device and inode, by which files are found. file_version_of():
 * also has the file's mtime and size, because another file may get the same inode later.
 * file_stat_mapping(): calls stat() for the file behind @m; 0 or -errno.
 */
uint64_t file_key(uint64_t dev, uint64_t ino);
struct file_version file_version_of(const struct stat *st);
int file_stat_mapping(const struct proc *proc, const struct mapping *m, struct stat *ret);
/*
 * Does @m still map the file that @was describes, with the same contents? @fd: the file, which was
 * held open since then; -1: it isn't open. Returns true also if the file can't be looked at, for
 * example without the right to use map_files.
 */
bool file_unchanged(int fd, const struct proc *proc, const struct mapping *m,
		    const struct file_version *was);

/*
 * Does @m map file @fd, which is held open, with the contents that @was describes? Looks at no
 * process: if the open file alone doesn't show that, returns false.
 */
bool file_held_unchanged(int fd, const struct mapping *m, const struct file_version *was);

/*
 * Sets *ret to what the file behind @m holds; each file is read once. Returns 0, -EBUSY, or an
 * error of file_open_mapping().
 */
_must_use_ int image_of(struct collect *c, const struct proc *proc, const struct mapping *m,
			const char *path, struct image_file **ret);

/*
 * Returns what the file behind @m holds, if krait holds the file open and it is unchanged; NULL
 * otherwise. Looks at no process. If the file holds no interpreter, a change is noticed up to a
 * second late.
 */
const struct image_file *image_known(const struct collect *c, const struct mapping *m);

/*
 * Finds the key by which the kernel programs know file @fd. Returns 0, or -errno if its file system
 * doesn't give the key.
 */
int image_key(int fd, struct exe_key *ret);

/*
 * Returns what executable @fd holds. No process runs this executable yet. *key: the key by which
 * the kernel programs will know it. NULL: the key isn't known beforehand, or the file can't be
 * looked into or is known already.
 */
struct image_file *image_of_fd(struct collect *c, int fd, const char *path, struct exe_key *key);

/* Does the file's name suggest that the file has an interpreter in it? */
bool image_named_python(const char *path);

/* Tells by its name whether a file is a library that is nothing but an interpreter. */
bool image_is_library(const char *path);

/* An interpreter in a process: the interpreter's file, and where the file is mapped. */
struct image_at {
	struct image_file *file;
	/* the mapping of .file's executable segment with the lowest address */
	const struct mapping *at;
};

struct image_found {
	struct image_at first, others[ABI_INTERPRETERS - 1];
	size_t n_others;
	/* an initialised interpreter that isn't shown; .file NULL: there is none */
	struct image_at left_out;
	/*
	 * the process has several interpreters, and as far as krait can read it, none of them is
	 * initialised yet
	 */
	bool idle;
	/* the process has several interpreters, and not all of them are initialised yet */
	bool waits;
};

/*
 * Finds the interpreters of a process. 1: found. 0: there is none. -EPERM, -EACCES + message: none
 * was found, but a file called python can't be read. If there are several interpreters, only
 * initialised ones count, in the order in which they were loaded: ctypes may load an interpreter's
 * library that nobody initialises.
 */
_must_use_ int image_find(struct collect *c, const struct proc *proc, const struct maps *maps,
			  struct image_found *ret);

/*
 * Counts process @tgid, once, if it has an interpreter @one that isn't shown. @one->file is NULL if
 * all interpreters are shown.
 */
void image_left_out(struct collect *c, uint32_t tgid, const struct maps *maps,
		    const struct image_at *one);

/*
 * java_is_exe(): does @proc run the java command? java_python(): the name of the Python interpreter
 * that this command was told to run; NULL: it runs none that krait knows. java_python_in() does the
 * same for a command line, which ends with a NUL.
 */
bool java_is_exe(const struct proc *proc);
const char *java_python(const struct proc *proc);
const char *java_python_in(const char *cmdline, size_t n);

/*
 * Returns the number to add to an address in the interpreter's file to get its address in the
 * process.
 */
uint64_t image_bias(const struct image_at *one);

/*
 * Tells the kernel programs what processes of executable @exe are: Python, with the interpreter of
 * file @f at @where; @f NULL: not Python.
 */
void image_teach(struct collect *c, const struct proc *proc, const struct maps *maps,
		 const struct exe_key *exe, const struct image_file *f,
		 const struct py_where *where);

/*
 * Is the program with path @exe CPython's own (Programs/python.c)? That program initialises the
 * interpreter once. Other programs may initialise an embedded interpreter several times, and each
 * time CPython counts code objects from the beginning.
 */
bool image_runs_once(const char *exe);

/*
 * May a process of executable @exe still become Python? It may if it is called python, is linked
 * with libpython, or isn't known.
 */
bool image_may_come(struct collect *c, const struct proc *proc, const struct maps *maps,
		    const struct exe_key *exe);

#endif
