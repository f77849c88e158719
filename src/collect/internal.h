/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of src/collect share: the process images, threads, stacks and waiting samples. */
#ifndef COLLECT_INTERNAL_H
#define COLLECT_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "elf/elf_dynamic.h"
#include "proc/maps.h"
#include "proc/proc.h"
#include "python/code.h"
#include "python/image.h"

/* What was found in one ELF file, by device and inode. */
struct image_file {
	uint64_t dev, ino;
	int64_t mtime_ns, bytes; /* another file may get the inode */
	bool is_python;
	struct py_image image; /* if is_python */
	struct elf_dynamic dynamic;
	uint64_t text_start; /* lowest executable p_vaddr */
	bool exec_fixed;     /* ET_EXEC */
};

/* One image of one process. Stays after its end: its samples may still be on the way. */
struct process {
	struct proc_key key;
	enum proc_state state;
	bool walked;	  /* a sample had Python frames */
	bool reported;	  /* counted among the unsupported ones */
	bool replaced;	  /* by an exec: it has ended, its number hasn't */
	uint16_t version; /* major << 8 | minor of its interpreter */
	char *name, *cgroup, *container;
	char unsupported[128];
	uint32_t mapping; /* profile id of "[python 3.12]" */
	uint64_t samples;
	struct py_where where;	/* state PROC_PYTHON: absolute addresses */
	uint64_t seen_ns;	/* time of its latest record */
	uint64_t start_boot_ns; /* /proc's start time: the number isn't another process's */
	uint8_t names_tries;	/* times left to look for names of new threads */
	VEC(struct py_code *) codes;
	struct map code_index;	 /* code_key() -> index + 1 in codes */
	VEC(uint64_t) stack_ids; /* in collect.stacks */
	uint8_t ended;		 /* flushes since its end, 0 = it runs */
	struct map threads;	 /* tid -> index + 1 in collect.threads */
};

struct thread {
	uint32_t tid, labels; /* labels: profile id, 0 = not made yet */
	uint64_t first_ns;    /* its CPU time where counting began, 0 = not yet */
	uint64_t last_ns;     /* at its last sample */
	uint64_t came, since; /* samples from first_ns to last_ns; at last_ns */
	uint64_t ended_ns;    /* 0 = it runs: from then on its number is another thread's */
	bool named;	      /* .name is Python's, else the kernel's */
	char name[64];
};

#define STACK_UNNAMED 0 /* no profile stack has this id */

/* A stack whose code objects haven't all arrived. */
struct raw_stack {
	uint64_t id;
	uint32_t process; /* index */
	uint16_t n;
	uint8_t outcome;
	struct wire_frame *frames;
};

struct waiting {
	struct rec_sample rec;
	uint32_t process;
};

struct collect {
	struct collect_config config;
	struct profile *profile;
	VEC(struct image_file *) files; /* pointers: they stay valid while more are added */
	struct map file_index;		/* hash of dev and ino -> index + 1 */
	struct map taught;		/* executables of processes that there were at the start */
	VEC(struct process) processes;
	VEC(uint32_t) live; /* indices of processes that haven't been forgotten */
	struct map by_key;  /* hash of proc_key -> index + 1 */
	struct map by_tgid; /* -> index + 1 of the newest image */
	VEC(struct thread) threads;
	struct map stacks; /* wire id -> profile stack id, or STACK_UNNAMED: it is in raw */
	VEC(struct raw_stack) raw;
	VEC(struct waiting) waiting;
	uint32_t marks; /* profile mapping of marks */
	VEC(struct collect_unsupported) unsupported;
	struct collect_stats stats;
};

/* process.c: the process of @key, made if it is new; index or negative. */
long process_of(struct collect *c, const struct proc_key *key);

/* The kernel met process @i: what it knows of it, or is asked. */
void process_met(struct collect *c, uint32_t i, const struct rec_proc *rec);

/*
 * Finds out what process @i runs and tells the kernel programs. @exe: its executable's key, or
 * NULL. 1 Python, 0 not (yet), -ENOTSUP, -errno.
 */
int process_examine(struct collect *c, uint32_t i, const struct exe_key *exe);

/* After each flush: forgets what only a process that has ended needed. */
void process_forget_ended(struct collect *c);

/* image.c: what is in the file behind @m, read once. 0, or as file_open_mapping(). */
_must_use_ int image_of(struct collect *c, const struct proc *proc, const struct mapping *m,
			const char *path, struct image_file **ret);

/* image.c: the key that the kernel knows this file by; -errno where it can't be told. */
int image_key(int fd, struct exe_key *ret);

/*
 * The same of an executable that nobody runs yet, with the key that the kernel will know it by. NULL
 * if the key can't be told, or is known already.
 */
struct image_file *image_of_fd(struct collect *c, int fd, const char *path, struct exe_key *key);

/*
 * The file with the interpreter and its lowest executable mapping: 1; 0 if there is none; -EPERM,
 * -EACCES with a message if none is found, but a file called python can't be looked into.
 */
_must_use_ int image_find(struct collect *c, const struct proc *proc, const struct maps *maps,
			  struct image_file **ret, const struct mapping **at);

/* Tells the kernel programs what running executable @exe means. @f NULL: not Python. */
void image_teach(struct collect *c, const struct proc *proc, const struct maps *maps,
		 const struct exe_key *exe, const struct image_file *f,
		 const struct py_where *where);

/* An executable that may still become Python: it is called so, or linked with libpython. */
bool image_may_come(struct collect *c, const struct proc *proc, const struct maps *maps,
		    const struct exe_key *exe);

/* Key of a code object among its process's. */
static inline uint64_t code_key(uint64_t code, uint64_t check)
{
	return code ^ check * 0x9e3779b97f4a7c15ull;
}

/* thread.c: profile labels of the sampled thread; notes what it ran. */
uint32_t thread_labels(struct collect *c, uint32_t process, const struct rec_sample *rec);

/* thread.c: the side band's word on a thread: it ended, the kernel's name of it changed. */
void thread_ended(struct collect *c, const struct process *p, uint32_t tid, uint64_t time_ns);
void thread_comm(struct collect *c, const struct process *p, uint32_t tid, const char *comm);

/* thread.c: adds what the threads ran, and the samples of that time, to cpu_ns and came. */
void thread_runtimes(const struct collect *c, struct collect_stats *ret);

/* thread.c: Python's names for threads met since the last time; @last: once more for all. */
void thread_names(struct collect *c, bool last);

/* stack.c: profile stack of frames with marks; 0 while a code object is missing and not @last. */
uint32_t stack_name(struct collect *c, const struct raw_stack *raw, bool last);
uint32_t stack_mark_only(struct collect *c, uint8_t outcome, const struct process *p);

#endif
