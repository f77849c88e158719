/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds names of code made at run time in /tmp/perf-PID.map ("START SIZE name", hexadecimal) and in
 * a jitdump (jit-PID.dump). The process itself writes these files while krait reads them, so they
 * may be hostile and are never complete. Where entries overlap, the later entry counts.
 */
#ifndef SYMBOL_MADECODE_PERF_MAP_H
#define SYMBOL_MADECODE_PERF_MAP_H

#include "base/util.h"
#include "proc/proc.h"

struct perf_map;

/* The most entries of a process. Further entries are counted and left out. */
#define PERF_MAP_ENTRIES_MAX (1u << 20)
#define PERF_MAP_NAMES_MAX   (128u << 20) /* the most bytes of all names of a process */
#define PERF_MAP_NAME_BYTES  4096	  /* the most bytes of one name; the rest is cut off */

struct perf_map_stats {
	size_t entries;	  /* how many entries are in use */
	size_t malformed; /* how many lines and records of the files aren't entries */
	size_t dropped;	  /* how many entries were left out because of a limit */
	bool unread;	  /* one of the two files has more bytes than were read */
};

/*
 * Opens /tmp/perf-PID.map and /tmp/jit-PID.dump in @proc's own mount namespace, with the PID of its
 * innermost namespace. A file is read only if it is regular, belongs to the process's user, and was
 * written after the process started and after @since_ns, the process's last exec (CLOCK_MONOTONIC;
 * 0: not known). 0; -ENOENT: neither file is there; -errno with a message (-EACCES: a file belongs
 * to another user).
 */
_must_use_ int perf_map_open(const struct proc *proc, uint64_t since_ns, struct perf_map **ret);
void perf_map_free(struct perf_map *m); /* @m may be NULL */

/*
 * Reads what was appended to the files since the last refresh. If a file has become shorter, reads
 * it from its beginning. The work is bounded: if there are more lines than a full map has, or more
 * than the thread's slice allows (base/work/slice.h), the next refresh reads on. Call this function
 * once more when the process has ended, because CPython writes a jitdump through a buffer of 4 KiB.
 * 0 or -errno with a message. If nothing was appended, takes one system call; else some
 * milliseconds for every 10,000 entries of the map.
 */
_must_use_ int perf_map_refresh(struct perf_map *m);

/*
 * Returns the name of the code at @addr, or NULL. The name is valid until the next refresh. The
 * name may have any bytes except NUL and newline. Sets *@start to where the code begins, unless
 * @start is NULL.
 */
const char *perf_map_find(const struct perf_map *m, uint64_t addr, uint64_t *start);

struct perf_map_stats perf_map_stats(const struct perf_map *m);

/* Returns how many bytes of memory the tables of @m take. */
size_t perf_map_bytes(const struct perf_map *m);

/*
 * Adds the jitdump that is open as @fd; for a jitdump that isn't at the path where perf_map_open()
 * looks. Takes over @fd, even if the call fails. 0 or -errno with a message.
 */
_must_use_ int perf_map_add_dump(struct perf_map *m, int fd);

/*
 * perf_map_new() makes an empty map without files, which perf_map_add_dump() or perf_map_feed()
 * fills. perf_map_feed() adds @n bytes of text, which may end in the middle of a line.
 */
struct perf_map *perf_map_new(void); /* returns NULL if memory runs out */
_must_use_ int perf_map_feed(struct perf_map *m, const char *text, size_t n);

#endif
