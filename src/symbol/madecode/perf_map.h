/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of code made at run time: /tmp/perf-PID.map ("START SIZE name", hexadecimal) and jitdump
 * (jit-PID.dump), written by the process itself while they are read: hostile, and never complete.
 * Later entries win over earlier ones wherever both claim an address.
 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include "base/util.h"
#include "proc/proc.h"

struct perf_map;

/* Limits. What is beyond them is counted, and left out. */
#define PERF_MAP_ENTRIES_MAX (1u << 20)
#define PERF_MAP_NAMES_MAX   (128u << 20) /* bytes */
#define PERF_MAP_NAME_BYTES  4096	  /* of one name; the rest is cut off */

struct perf_map_stats {
	size_t entries;	  /* that are live */
	size_t malformed; /* lines and records that aren't an entry */
	size_t dropped;	  /* entries beyond a limit */
	bool unread;	  /* a file has more than was read so far */
};

/*
 * Opens /tmp/perf-PID.map and /tmp/jit-PID.dump of @proc in its own mount namespace, under its
 * innermost PID. Only regular files are read that belong to the process's user and were written since
 * its start, and since @since_ns, its last exec (CLOCK_MONOTONIC; 0: not known).
 * 0; -ENOENT: there is neither; -errno with a message (-EACCES: another user's).
 */
_must_use_ int perf_map_open(const struct proc *proc, uint64_t since_ns, struct perf_map **ret);
void perf_map_free(struct perf_map *m); /* NULL is fine */

/*
 * Reads what was appended since; from the start again if a file has become shorter. Of more than a full map's
 * lines, and of what is too much for the thread's slice (base/slice.h), it leaves some to the next refresh. To be called once more when the process has ended: CPython writes
 * a jitdump through a buffer of 4 KiB. Bounded. 0 or -errno with a message. Costs a system call where nothing was
 * appended, else milliseconds for every 10,000 entries that the map has.
 */
_must_use_ int perf_map_refresh(struct perf_map *m);

/* Name of the code at @addr or NULL; valid until the next refresh. @start may be NULL. Any bytes but
 * NUL and newline. */
const char *perf_map_find(const struct perf_map *m, uint64_t addr, uint64_t *start);

struct perf_map_stats perf_map_stats(const struct perf_map *m);

/* Memory of its tables. */
size_t perf_map_bytes(const struct perf_map *m);

/*
 * Reads the jitdump @fd too (taken over also in case of failure), where the process has one mapped
 * from another place. 0 or -errno with a message.
 */
_must_use_ int perf_map_add_dump(struct perf_map *m, int fd);

/* An empty map without a file, and @n more bytes of text for it, which may end anywhere. */
struct perf_map *perf_map_new(void); /* NULL on out of memory */
_must_use_ int perf_map_feed(struct perf_map *m, const char *text, size_t n);

#endif
