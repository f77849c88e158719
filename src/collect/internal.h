/* SPDX-License-Identifier: BSD-2-Clause */
/* The collector itself: all that its files share. */
#ifndef COLLECT_INTERNAL_H
#define COLLECT_INTERNAL_H

#include "collect/process/absent.h"
#include "collect/collect.h"
#include "collect/process/crowd.h"
#include "collect/interp/image.h"
#include "collect/process/look.h"
#include "collect/native/native.h"
#include "collect/process/process.h"
#include "collect/madecode/runtime_code.h"
#include "collect/space/space.h"
#include "collect/stack/stack.h"
#include "collect/process/thread.h"
#include "collect/process/upkeep.h"

struct waiting {
	struct rec_sample rec;
	uint32_t process;
	uint32_t flush; /* in which it came */
};

/*
 * What only the process itself still has is read from it. One that makes large code objects all the time would keep
 * krait from everybody else, and from its end: so much between two flushes, and what isn't looked into stays without them.
 */
#define ASKED_NS (250 * NSEC_PER_MSEC)

/* A code object that is a module's body, the name of which isn't known yet. */
struct body {
	uint32_t process;
	uint16_t layout;
	uint64_t code; /* code_key() */
	uint64_t globals;
};

/* Source text that process .tgid, .start_boot_ns may have under .name. */
struct wanted_text {
	uint32_t process, tgid;
	uint64_t start_boot_ns;
	uint16_t layout;
	char *name, *path;
};

/* An executable that the kernel programs were told of, and what. */
struct taught_program {
	struct exe_key key;
	struct exe_entry entry;
	uint16_t version; /* of its Python */
};

/* The command has exec'ed: looked at as soon as it is loaded. */
struct first_look {
	uint32_t tgid; /* 0: nothing to look at */
	uint64_t due_ns, until_ns;
};

/* A package whose distribution was looked for. */
struct together {
	char *key;		 /* where it lies */
	char *file;		 /* of it, which is asked for; NULL: none yet */
	struct proc_key process; /* that had code of it last */
	unsigned tries;
	bool done;
};

struct collect {
	struct collect_config config;
	struct profile *profile;
	uint64_t start_boot_ns; /* CLOCK_BOOTTIME of the profile's time 0 */
	bool began;		/* samples are taken: collect_begin() */
	struct look_budgets look;
	struct budget upkeep, strangers;
	struct crowds crowds;
	VEC(struct image_file *) files; /* pointers: they stay valid while more are added */
	struct map file_index;		/* hash of dev and ino -> index + 1 */
	struct map others;		/* processes with a second interpreter that works */
	struct map taught;		/* executables of processes that there were at the start */
	VEC(struct process) processes;
	VEC(uint32_t) live; /* indices of processes that haven't been forgotten */
	struct map by_key;  /* hash of proc_key -> index + 1 */
	struct map by_tgid; /* -> index + 1 of the newest image */
	struct map execs;   /* tgid -> time of its latest exec that was seen */
	VEC(struct thread) threads;
	VEC(uint32_t) free_threads;	 /* indices */
	VEC(struct thread_end) ends;	 /* the first one first */
	VEC(struct forgotten) forgotten; /* the longest ago first */
	VEC(uint32_t) free_processes;	 /* indices */
	struct ended_threads {
		unsigned n;	       /* all that were given up */
		uint64_t cpu_ns, came; /* what they say of the rate */
		uint64_t at_ns;	       /* side band's time, when it was done last */
	} ended;
	struct sent_stacks *stacks_sent; /* NULL: none yet */
	struct sent_codes *codes_sent;
	uint32_t round;	    /* collect_condense() calls */
	size_t code_bytes;  /* of all code objects */
	size_t names_bytes; /* of all files' names and lines, at the last flush */
	size_t rows_bytes;  /* what is kept of their unwind tables, likewise */
	size_t lists_bytes; /* of all processes' lists for gdb, likewise */
	uint64_t asked_ns;  /* since the last flush, in ASKED_NS */
	struct jit_reading {
		struct budget budget;
		uint64_t left; /* work (base/slice.h) that may still be done with this flush */
		size_t bytes;
	} jit_reading;	 /* of all processes' perf maps */
	uint64_t serial; /* of the last of them */
	struct known *known;
	struct map
		stacks; /* wire id -> STACK_UNNAMED: it is in raw; else profile stack id, above that native_outcome */
	VEC(struct raw_stack) raw;
	VEC(struct waiting) waiting;
	VEC(struct body) bodies;
	VEC(struct wanted_text) texts;	   /* for which there was no time yet */
	VEC(struct raw_native *) unpaired; /* whose stacks haven't come yet, oldest first */
	VEC(struct native_file *) natives;
	size_t natives_open;	    /* of which .fd was kept */
	struct map native_index;    /* hash of dev and ino -> index + 1 */
	struct map rowless;	    /* wire id of a stack that broke off for want of rows -> file */
	struct map registered;	    /* wire id of a stack that registered.c knows -> see there */
	bool registered_rows;	    /* some were ever in use */
	size_t registered_turn;	    /* in .live: whose are read next */
	uint64_t registered_due_ns; /* not before that */
	struct map spaces;	    /* version -> struct space * */
	VEC(struct target_root) roots;
	VEC(struct together) together;
	uint32_t flushes; /* so far, from 1 on; counted in collect_flush() alone */
	bool last;	  /* it is the last flush */
	bool hurried;	  /* .config.wait has said that it is enough */
	bool news;	  /* see collect_news() */
	bool no_memory;	  /* for what a record says; the next flush fails */
	unsigned held;	  /* image files whose .fd is open */
	VEC(struct trampoline) trampolines;
	uint32_t last_version;
	struct absent *absent; /* NULL: all memory could be read so far */
	char *command;	       /* path of what `krait record --` runs; NULL: none */
	VEC(struct taught_program) taught_programs;
	struct first_look first;
	struct worker *worker;	     /* NULL: no native frames */
	struct kernel_names *kernel; /* NULL: not read yet, or there are none */
	bool kernel_asked;
	uint64_t kernel_unknown;		  /* what they are read for */
	uint64_t kernel_retry_ns, kernel_wait_ns; /* they aren't read again before; 0: never read */
	uint32_t marks;				  /* profile mapping of marks */
	VEC(struct collect_unsupported) unsupported;
	struct collect_stats stats;
};

/* memory.c: no more may be kept until something was given up, or what is rare was summed up. */
bool collect_is_full(const struct collect *c);

/* Bytes that names of files and of code made at run time may take, all together; a job of the worker while it runs. */
size_t memory_for_names(const struct collect *c);
size_t memory_for_job(const struct collect_config *config);

/* With each flush: gives up names that are too many. */
void memory_keep_to(struct collect *c);
/* foresee.c: the files that the command @fd will map are met; what processes mapped is kept for the next time. */
void foresee_command(struct collect *c, int fd);
void foresee_remember(struct collect *c);

/* bodies.c: @code is a module's body. */
void bodies_met(struct collect *c, uint32_t process, const struct py_code *code,
		const struct rec_code *rec);
/* @code isn't looked for: it has no text, whoever else has one of that name. */
void bodies_left_out(struct collect *c, const struct process *p, const struct py_code *code);
/* Once a flush, before stacks are named. */
void bodies_find(struct collect *c);
void bodies_fini(struct collect *c);

/* together.c: code of a process was met, after .codes has it. */
void together_met(struct collect *c, struct process *p, const struct py_code *code);
/* With each flush: looks for what was met, as long as ASKED_NS allows. */
void together_look(struct collect *c);
void together_fini(struct collect *c);
/* frozen.c: takes those out that need no look at their process. */
void bodies_name_frozen(struct collect *c);

/* first.c: once a flush. */
void first_look(struct collect *c);

/* teach.c: executable @fd, if it runs an interpreter: as collect_teach(). */
_must_use_ int teach_program(struct collect *c, int fd, const char *path);

#endif
