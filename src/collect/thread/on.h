/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The values of the label `on`: what a thread waited for, as "10.0.0.5:5432", "/run/x.sock",
 * "/var/log/app.log", "make". At most ON_VALUES values are kept; all further values become
 * "[other]".
 */
#ifndef COLLECT_THREAD_ON_H
#define COLLECT_THREAD_ON_H

#include <stdint.h>

#include "base/map.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "records.h"

struct collect;

#define ON_VALUES   1000
#define ON_BYTES    256	 /* the most bytes of a value */
#define ON_COMMANDS 4096 /* how many processes' commands are kept; a power of two */

/* A process, and the name that it got at its last exec. */
struct on_command {
	uint32_t tgid;
	char comm[ABI_COMM_BYTES];
};

/* The path that a descriptor had when it was looked up. */
struct on_path {
	/*
	 * .flush: how often collect_flush() had been called (collect.flushes) when the path was
	 * looked up; the path isn't used after the next call
	 */
	uint32_t tgid, flush;
	int32_t fd;
	uint32_t value;
};

struct on_values {
	VEC(char *) texts;  /* the values; the number of a value is its index + 1 */
	struct map by_hash; /* hash of a value's text -> the value's number */
	/* the commands, at index tgid % ON_COMMANDS; NULL: no process's name has come yet */
	struct on_command *commands;
	/* the paths, at an index that is a hash of process and descriptor */
	struct on_path paths[64];
};

void on_fini(struct on_values *v);

/*
 * Notes that process @tgid is called @comm from now on. Its parent may be recorded, and wait for
 * it.
 */
void on_command(struct collect *c, uint32_t tgid, const char *comm);

/* Does what collect_child_of() does; see collect/named.h. */
uint32_t on_child(int32_t call, const uint64_t *arg, uint8_t flags);

/*
 * Returns the number of the value that says what @wait, a wait of process @tgid, is for; 0: it
 * isn't known. May read /proc/@tgid/fd, within the budget for asking processes. The record may be
 * hostile.
 */
uint32_t on_find(struct collect *c, uint32_t tgid, const struct rec_wait *wait);
const char *on_text(const struct on_values *v, uint32_t number);

/* Writes the address and port of @on, which is WAIT_ON_IPV4 or WAIT_ON_IPV6. */
void on_add_address(const struct wait_on *on, struct str *ret);

#endif
