/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share: they stand above all rooms of it. */
#ifndef COLLECT_INTERNAL_H
#define COLLECT_INTERNAL_H

#include "collect/collect.h"
#include "collect/common/raw.h"
#include "collect/common/state.h"
#include "collect/interp/image.h"
#include "collect/madecode/made.h"
#include "collect/native/native.h"
#include "collect/process/process.h"
#include "collect/space/space.h"
#include "collect/stack/stack.h"

/* Records and events that came. */
struct intake {
	VEC(struct waiting) waiting;	   /* samples; c->n_waiting is their number */
	VEC(struct raw_native *) unpaired; /* whose stacks haven't come yet, oldest first */
	VEC(struct collect_unsupported) unsupported;
	struct map taught;	 /* executables of processes that there were at the start */
	struct budget strangers; /* files that aren't known, of processes that aren't either */
};

/* An executable that the kernel programs were told of, and what. */
struct taught_program {
	struct exe_key key;
	struct exe_entry entry;
	uint16_t version; /* of its Python */
};

/* What `krait record --` runs. */
struct command {
	char *path;			     /* NULL: there is none */
	VEC(struct taught_program) programs; /* that it may run */
	/* It has exec'ed: it is looked at as soon as it is loaded. */
	struct first_look {
		uint32_t tgid; /* 0: nothing to look at */
		uint64_t due_ns, until_ns;
	} first;
};

/* intake.c */
void intake_fini(struct collect *c);

/*
 * hand_on.c: adds to the profile the samples that can be shown; the others wait. If @r is an
 * error, or after an error, all of them wait. Returns @r, or what failed.
 */
int hand_on_all(struct collect *c, bool last, int r);

/* examine.c: the kernel met process @i: what it knows of it, or is asked. */
void process_met(struct collect *c, uint32_t i, const struct rec_proc *rec);

/*
 * Finds out what process @i runs and tells the kernel programs. @exe: its executable's key, or
 * NULL. 1 Python, 0 not (yet), -ENOTSUP, -errno.
 */
int process_examine(struct collect *c, uint32_t i, const struct exe_key *exe);

/* Is each process still wanted, or is it now, and in which control group? Looks once a second. */
void process_look_again(struct collect *c);

/*
 * The command has begun and wasn't sampled yet. Its interpreter is at @where. Its mappings are
 * read now.
 */
struct proc_stat;
void process_expect_first(struct collect *c, const struct proc *proc, const struct py_where *where,
			  const struct proc_stat *stat, uint16_t version);

/* memory.c: with each flush, gives up names that are too many. */
void memory_keep_to(struct collect *c);

/* foresee.c: keeps for the next time what processes mapped. */
void foresee_remember(struct collect *c);

/* first.c: once a flush. */
void first_look(struct collect *c);

/* teach.c: krait's own executable, which the command's process runs until its exec. 0 or -errno. */
_must_use_ int teach_own(struct collect *c);
/* Executable @fd, if it runs an interpreter: as collect_teach(). */
_must_use_ int teach_program(struct collect *c, int fd, const char *path);

#endif
