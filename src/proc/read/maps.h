/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mappings of a process, from /proc/PID/maps. The kernel writes the text, but the target
 * chooses the paths in it (any byte but NUL; the kernel writes a newline as \012), and may have
 * very many mappings. So everything is bounded.
 */
#ifndef PROC_READ_MAPS_H
#define PROC_READ_MAPS_H

#include "base/util.h"
#include "base/text/str.h"
#include "base/vec.h"

struct mapping {
	/* the addresses of the mapping: start < end, and end is the first address after it */
	uint64_t start, end;
	uint64_t offset; /* offset in the file of the mapping's first byte */
	/*
	 * device of the mapped file in the kernel's encoding, as in exe_key of abi/: major << 20 |
	 * minor
	 */
	uint64_t dev;
	uint64_t ino;  /* inode of the mapped file; 0: the mapping has no file */
	uint32_t path; /* offset into maps.text, see maps_path() */
	uint8_t prot;  /* PROT_READ | PROT_WRITE | PROT_EXEC */
	bool shared;
	/* the kernel added " (deleted)" to the path; .path is without it */
	bool deleted;
};

struct maps {
	VEC(struct mapping) list; /* the mappings, ascending by address */
	struct str text;	  /* the paths of the mappings, each NUL-terminated */
	bool truncated;		  /* a limit was reached, so the list has only the first mappings */
	size_t malformed;	  /* how many lines couldn't be read and are left out */
};

enum maps_want {
	MAPS_EXEC = 1, /* executable mappings are wanted, with a file or without */
	MAPS_FILE = 2, /* mappings of files (inode != 0) are wanted */
	MAPS_ALL = 4,
};

/*
 * Limits of a list of mappings: the most lines, and the most bytes of text. vm.max_map_count is
 * 65,530 by default.
 */
#define MAPS_MAX_LIST  (1u << 20)
#define MAPS_MAX_BYTES (256u << 20)

/*
 * Reads PROCDIR/maps into @ret (zero-initialised by this function; maps_fini() in every case).
 * @procdir is a descriptor of /proc/PID (struct proc .dirfd). @want: a set of enum maps_want;
 * mappings of these kinds are kept. 0; -ESRCH if the process is gone; -errno with a message.
 */
_must_use_ int maps_read(int procdir, unsigned want, struct maps *ret);
/*
 * Does the same as maps_read(), for a caller that knows the process's id @pid: it saves asking the
 * kernel for the id.
 */
_must_use_ int maps_read_of(int procdir, pid_t pid, unsigned want, struct maps *ret);

/*
 * Reads mappings as maps_read() does from @fd, an open PROCDIR/maps. Sets no message. May wait for
 * long (aside.h).
 */
_must_use_ int maps_read_fd(int fd, unsigned want, struct maps *ret);

/*
 * Reads mappings as maps_read() does from @n bytes of the text of /proc/PID/maps, which may end
 * anywhere. 0 or -ENOMEM.
 */
_must_use_ int maps_parse(const char *text, size_t n, unsigned want, struct maps *ret);

/*
 * maps_query.c: adds the executable mappings of @fd, an open PROCDIR/maps, to the empty list @m.
 * False: the kernel lacks PROCMAP_QUERY, so the list stays empty and the caller has to read the
 * file's text.
 */
bool maps_query_exec(int fd, struct maps *m);

/* Makes @m an empty list. 0 or -ENOMEM. */
_must_use_ int maps_init(struct maps *m);
/*
 * Appends mapping @e with its path of @n bytes, both in the form in which the kernel gives them. 0
 * or -ENOMEM.
 */
_must_use_ int maps_add(struct maps *m, struct mapping *e, const char *path, size_t n);

void maps_fini(struct maps *m);
#define _cleanup_maps_ _cleanup_(maps_fini)

/*
 * Returns the path of mapping @e of @m: "" for anonymous memory, "[vdso]" and the like for other
 * memory without a file. The path lives as long as @m.
 */
const char *maps_path(const struct maps *m, const struct mapping *e);

/* Returns the mapping that contains @addr, or NULL. */
const struct mapping *maps_find(const struct maps *m, uint64_t addr);

#endif
