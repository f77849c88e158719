/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of files that may hold an interpreter, learnt once a file: image.c, teach.c. */
#ifndef COLLECT_IMAGE_H
#define COLLECT_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/common/state.h"
#include "elf/elf_dynamic.h"
#include "proc/maps.h"
#include "proc/proc.h"
#include "python/find/image.h"
#include "records.h"

struct collect;

/*
 * A file and its contents, as stat() describes them. In mappings, several files of an overlayfs
 * may show the same device and inode.
 */
struct file_version {
	uint64_t dev, ino;
	int64_t mtime_ns, bytes;
};

/* What was found in one ELF file, by device and inode. */
struct image_file {
	uint64_t dev, ino;
	int fd; /* -1: not held open */
	struct file_version version;
	bool is_known_program; /* the kernel programs know processes of it by their executable */
	bool is_python;
	struct py_image image; /* if is_python */
	struct elf_dynamic dynamic;
	uint64_t text_start, text_offset; /* of the executable PT_LOAD with the lowest p_vaddr */
	bool exec_fixed;		  /* ET_EXEC */
};

/* What is known of files. */
struct images {
	VEC(struct image_file *) files; /* pointers: they stay valid while more are added */
	struct map index;		/* file_key() -> index + 1 of the latest one */
	struct map others;		/* processes with a second interpreter that works */
	unsigned held;			/* files whose .fd is open */
};

/* False: out of memory. */
_must_use_ bool images_init(struct collect *c);
void images_fini(struct collect *c);

/* Files are known by device and inode; another file may get the inode. */
uint64_t file_key(uint64_t dev, uint64_t ino);
struct file_version file_version_of(const struct stat *st);
int file_stat_mapping(const struct proc *proc, const struct mapping *m, struct stat *ret);
/*
 * False if @m maps another file than @was, or other contents of it. @fd: the file, held open
 * since it was read, or -1. Without the rights for map_files and with -1: true.
 */
bool file_unchanged(int fd, const struct proc *proc, const struct mapping *m,
		    const struct file_version *was);

/* What is in the file behind @m, read once. 0, or as file_open_mapping(). */
_must_use_ int image_of(struct collect *c, const struct proc *proc, const struct mapping *m,
			const char *path, struct image_file **ret);

/* What is known for certain without a look at a process that maps it; NULL: nothing. */
const struct image_file *image_known(const struct collect *c, const struct mapping *m);

/* The key that the kernel knows this file by; -errno where it can't be told. */
int image_key(int fd, struct exe_key *ret);

/*
 * The same for an executable that nobody runs yet, and the key by which the kernel will know it.
 * NULL if the key isn't known beforehand, or if the file is known already.
 */
struct image_file *image_of_fd(struct collect *c, int fd, const char *path, struct exe_key *key);

/* Is a file called so that there may be an interpreter in it? */
bool image_named_python(const char *path);

/* The same of a library that has nothing else in it. */
bool image_is_library(const char *path);

/* An interpreter in a process. */
struct image_at {
	struct image_file *file;
	const struct mapping *at; /* its lowest executable mapping */
};

struct image_found {
	struct image_at first, others[ABI_INTERPRETERS - 1];
	size_t n_others;
	struct image_at
		left_out; /* one that is initialised too, and isn't shown; .file NULL: none */
	bool idle;	  /* several are there, none of them is initialised (yet) or can be read */
	bool waits;	  /* not all of them are */
};

/*
 * Finds the interpreters of a process. 1: found. 0: there is none. -EPERM, -EACCES with a
 * message: none was found, but a file called python can't be read. Of several interpreters those
 * count that are initialised, in the order in which they were loaded: a library that nobody has
 * initialised, as ctypes loads one, isn't the interpreter.
 */
_must_use_ int image_find(struct collect *c, const struct proc *proc, const struct maps *maps,
			  struct image_found *ret);

/* Counts process @tgid if it has an interpreter that isn't shown: @one; .file NULL: it has none. */
void image_left_out(struct collect *c, uint32_t tgid, const struct maps *maps,
		    const struct image_at *one);

/* Where the addresses of its file's image are. */
uint64_t image_bias(const struct image_at *one);

/* Tells the kernel programs what running executable @exe means. @f NULL: not Python. */
void image_teach(struct collect *c, const struct proc *proc, const struct maps *maps,
		 const struct exe_key *exe, const struct image_file *f,
		 const struct py_where *where);

/*
 * Is @exe, a path, the interpreter's own program (Programs/python.c)? That one initialises the
 * interpreter once. Programs that embed an interpreter may do so again, and then the count of
 * code objects begins anew.
 */
bool image_runs_once(const char *exe);

/* An executable that may still become Python: it is called so, or linked with libpython. */
bool image_may_come(struct collect *c, const struct proc *proc, const struct maps *maps,
		    const struct exe_key *exe);

#endif
