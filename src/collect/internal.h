/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share. These files use all the folders below this one. */
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

/* The last record of a thread (accounts.c). */
struct held_account {
	struct rec_account rec;
	uint32_t round; /* value of collect.rounds when the record came */
	/* value of collect.flushes at the last flush in which an earlier record could still come */
	uint32_t flush;
	/*
	 * 1 + index in processes.all of the process that this record keeps from being forgotten; 0:
	 * no process that isn't forgotten yet is known
	 */
	uint32_t pinned;
};

/* The records and events that came, and the samples and stacks that wait for further records. */
struct intake {
	/* samples that aren't in the profile yet; collect.n_waiting is their number */
	VEC(struct waiting) waiting;
	VEC(struct held_account) accounts;
	/* native parts of stacks whose own records haven't come yet, the oldest first */
	VEC(struct raw_native *) unpaired;
	VEC(struct collect_unsupported) unsupported;
	/* executables, by key, that teach_exe() has told the kernel programs of */
	struct map taught;
	/* CPU time for looking into files that unknown processes map (events.c) */
	struct budget strangers;
};

/* An executable, with what the kernel programs were told of it. */
struct taught_program {
	struct exe_key key;
	struct exe_entry entry;
	uint16_t version; /* version of the executable's Python, as in process.version */
};

/* What is known of the command that `krait record --` runs. */
struct command {
	char *path; /* path of the command's executable; NULL: it isn't known */
	VEC(struct taught_program) programs; /* executables that the command may run */
	/*
	 * after its exec the command is looked at from .due_ns until it is loaded, at the latest
	 * until .until_ns (CLOCK_MONOTONIC)
	 */
	struct first_look {
		uint32_t tgid; /* number of the command's process; 0: there is none to look at */
		uint64_t due_ns, until_ns;
	} first;
};

/* intake.c: frees the state of intake.c, with the samples and stacks that still wait */
void intake_fini(struct collect *c);

/*
 * hand_on.c: notes the threads of the samples that came since the last collect_flush(), if their
 * process is known to be Python. By the next collect_flush() these threads may have ended.
 */
void hand_on_meet(struct collect *c);

/* intake.c: gives back memory that fewer waiting samples no longer need. */
void intake_shrink(struct intake *in);

/* intake.c: does a field of the record have a value that the kernel programs never send? */
bool intake_is_broken(const struct collect *c, const struct rec_sample *rec);

/*
 * Records of a thread have sums of its times without a CPU, and krait adds only what is new in
 * these sums. When krait forgets process @p, it forgets the last sums of the process's threads. The
 * sums in a later record @rec would count these times again, so they are set to 0.
 */
void intake_forget_told(const struct process *p, struct rec_sample *rec);

/*
 * Adds to the profile the waiting samples whose stack and process are known. The other samples go
 * on waiting; with @last (the final collect_flush()) these are added without what is missing, or
 * only counted. If @r is an error, or adding a sample fails, all samples that weren't added go on
 * waiting. Returns @r or the error.
 */
int hand_on_all(struct collect *c, bool last, int r);

/*
 * Adds to the profile the times in a thread's last record, @w, which no sample has. 1: done. 0: @w
 * has to wait for the stack of one of the thread's samples. -errno + message.
 */
int hand_on_account(struct collect *c, struct waiting *w, bool last);

/*
 * accounts.c: accounts_take() keeps the last record of a thread. accounts_hand_on() hands on those
 * records before which nothing more can come; to be called after hand_on_all(), with the same
 * arguments and result.
 */
void accounts_take(struct collect *c, const struct rec_account *rec);
int accounts_hand_on(struct collect *c, bool last, int r);

/*
 * examine.c: takes a record in which the kernel program says what it knows of process @i, or asks
 * what the process is.
 */
void process_met(struct collect *c, uint32_t i, const struct rec_proc *rec);

/*
 * Finds out what process @i runs, and tells the kernel programs. @exe: key of its executable, from
 * the record with which the kernel programs ask; NULL: they don't ask. 1: Python. 0: not Python
 * (yet). -ENOTSUP + message: Python that krait doesn't support. Other -errno: it can't be examined.
 */
int process_examine(struct collect *c, uint32_t i, const struct exe_key *exe);

/* Settles that the process isn't shown, and tells the kernel programs. 0 or -errno. */
int process_ignore(struct collect *c, struct process *p);

/*
 * How often krait checks whether a process's name, user and control group have changed: a program
 * may rename itself, become another user or be moved while it runs. facts_renew() reads user and
 * control group less often if they stay the same.
 */
#define FACTS_APART_NS NSEC_PER_SEC

/*
 * look_again.c: looks once a second at each process. Is the process still wanted, or has it become
 * wanted? Which control group is it in?
 */
void process_look_again(struct collect *c);

/*
 * Tells the kernel programs what the command is: it has exec'ed, wasn't sampled yet, and has its
 * interpreter at @where. Also reads the command's mappings.
 */
struct proc_stat;
void process_expect_first(struct collect *c, const struct proc *proc, const struct py_where *where,
			  const struct proc_stat *stat, uint16_t version);

/* memory.c: frees names that take too much memory; called in each collect_flush(). */
void memory_keep_to(struct collect *c);

/*
 * foresee.c: writes the list of files that processes mapped, for the next recording of this
 * command.
 */
void foresee_remember(struct collect *c);

/* first.c: looks at the command after its exec; called in each collect_flush(). */
void first_look(struct collect *c);

/*
 * teach.c: tells the kernel programs of krait's own executable, which the command's process runs
 * until its exec. 0 or -errno.
 */
_must_use_ int teach_own(struct collect *c);
/*
 * Tells the kernel programs of executable @fd if processes that run it are Python. Arguments and
 * result as for collect_teach().
 */
_must_use_ int teach_program(struct collect *c, int fd, const char *path);

/*
 * refused.c: notes that process @tgid runs @what, which krait doesn't understand. refused_image()
 * does so for interpreter @at, whose .unsupported says what it is. -ENOTSUP + message.
 */
int refused_note(struct collect *c, pid_t tgid, const char *what);
int refused_image(struct collect *c, pid_t tgid, const struct image_at *at);

#endif
