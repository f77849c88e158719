/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process: its name, its owner, its cgroup and container. Everything is read through one
 * descriptor of /proc/PID, which refers to that process for good: once the process is gone, reads
 * fail with -ESRCH, even if its pid is used again. A process may choose any bytes of any length for
 * its comm and cmdline, so krait bounds what it reads of them.
 */
#ifndef PROC_PROC_H
#define PROC_PROC_H

#include <linux/types.h>
#include <sys/types.h>
#include "base/util.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "proc/read/stat.h"

#define PROC_CMDLINE_BYTES 4096 /* how many bytes of a command line are kept */
#define PROC_CGROUP_BYTES  4096

struct proc {
	pid_t tgid; /* the process's id in the PID namespace of krait and of /proc */
	int dirfd;  /* descriptor of the directory /proc/TGID */
};

/* Opens /proc/@tgid. 0; -ESRCH with a message if there is no such process. */
_must_use_ int proc_open(struct proc *p, pid_t tgid);
/* Does the same as proc_open(), but @p may be closed, or already open as @tgid. */
_must_use_ int proc_ensure(struct proc *p, pid_t tgid);
void proc_close(struct proc *p);
#define PROC_INIT      ((struct proc){.dirfd = -1})
#define _cleanup_proc_ _cleanup_(proc_close)

/*
 * What is known of a process. The caller zero-initialises the struct, and calls proc_facts_fini()
 * to free it. Once it is filled, no string is NULL.
 */
struct proc_facts {
	pid_t tgid;
	/* when the process started, CLOCK_BOOTTIME, in whole clock ticks (10 ms) */
	uint64_t start_boot_ns;
	bool kernel_thread;
	char comm[PROC_COMM_BYTES];
	/* the name by which people know the process: its script or module, see proc_name_from() */
	char *name;
	/*
	 * path of the process's cgroup in the v2 hierarchy, else the longest path in a v1
	 * hierarchy; "/" if there is none
	 */
	char *cgroup;
	/*
	 * id (64 hex digits) of the process's container, or name of its machine; "": there is none
	 */
	char *container;
	/* all processes in the same control groups have the same .cgroup and .container */
	bool shared;
	/* id or name of a container that the process only claims to be in; "": none */
	char *claim;
	uid_t claim_uid; /* the user who may have chosen the name .claim; (uid_t)-1: not known */
};

/*
 * Fills @ret. @name: the process's name, if the caller knows it; NULL: it is read from the command
 * line. 0; -ESRCH if the process is gone; -errno with a message. What krait has no right to read
 * stays empty: only tgid, comm and name are always set.
 */
_must_use_ int proc_facts_read(const struct proc *p, const char *name, struct proc_facts *ret);

/*
 * Fills @ret with cgroup and container alone, for a process whose other facts are all known, in a
 * third of the time of proc_facts_read(). @group: the control groups that the process was in a
 * moment ago (struct proc_place), by which .shared is decided, or NULL. Returns what
 * proc_facts_read() returns, but sets no message.
 */
_must_use_ int proc_facts_read_place(const struct proc *p, const __u64 *group,
				     struct proc_facts *ret);
void proc_facts_fini(struct proc_facts *f);
#define _cleanup_proc_facts_ _cleanup_(proc_facts_fini)

/*
 * Appends to @ret the name by which people know a process. @cmdline: @n bytes of /proc/PID/cmdline
 * (NUL-separated); @exe: target of /proc/PID/exe, or NULL; @comm: not NULL. Control characters
 * become '?'. Examples (command line -> name):
 * - python3 -u /srv/app.py -> app.py
 * - /usr/bin/gunicorn wsgi:app -> gunicorn
 * - python -m http.server -> http.server
 * - python3 -c 'print(1)' -> python3 -c
 * - python3 -> python3
 * - python3 -c 'from multiprocessing.spawn import ...' -> multiprocessing.spawn
 * - gunicorn: worker [app] (a title set by setproctitle) -> gunicorn
 * - /opt/host/embedder -> embedder
 */
void proc_name_from(const char *cmdline, size_t n, const char *exe, const char *comm,
		    struct str *ret);

/*
 * Does the command line alone decide the process's name, whatever its executable is? @cmdline: the
 * beginning of the command line, in a buffer of @n bytes. True if the buffer has the whole command
 * line (its last byte is NUL), and the command line begins with an interpreter's name.
 */
bool proc_name_is_said(const char *cmdline, size_t n);

/*
 * Reads only the name of a running process, without its other facts. *@ret is heap memory that the
 * caller frees.
 */
_must_use_ int proc_name(const struct proc *p, char **ret);

/*
 * Reads the comm of thread @tid of process @p (@tid == @p's tgid: the process's comm). 0 or -ESRCH.
 */
_must_use_ int proc_comm(const struct proc *p, pid_t tid, char ret[static PROC_COMM_BYTES]);

typedef VEC(pid_t) pid_vec;

/* Lists the ids of all processes that /proc shows, ascending. 0 or -errno with a message. */
_must_use_ int proc_list(pid_vec *ret);

/*
 * Is /proc mounted, and does it show the process numbers of krait's own PID namespace? 0 or -errno
 * + message.
 */
_must_use_ int proc_check_mount(void);

/*
 * Has the process ended? True if the process is gone, or if only its first thread is left and has
 * ended.
 */
bool proc_has_ended(const struct proc *p);

/* Lists the ids of the threads of process @p. 0, -ESRCH, -errno. */
_must_use_ int proc_threads(const struct proc *p, pid_vec *ret);

/*
 * Makes .dirfd the directory of another thread if the first thread has ended and others run:
 * /proc/TGID then shows neither memory nor files, but the other thread's directory shows both.
 * (Times and state in it are that thread's.) False: the first thread hasn't ended, or there is no
 * other thread.
 */
bool proc_use_another_thread(struct proc *p);

/*
 * Reads the process's mappings as maps_read() does. If the first thread has ended, reads them
 * through another thread.
 */
struct maps;
_must_use_ int proc_maps(struct proc *p, unsigned want, struct maps *ret);

/*
 * Lists process @root, and after it all its present descendants: children of any of its threads,
 * their children, and so on. A process whose parent has died belongs to init, and isn't found. 0,
 * -ESRCH, -errno.
 */
_must_use_ int proc_tree(pid_t root, pid_vec *ret);

/*
 * Lists process @pid, which a user asked for, and its descendants as proc_tree() does; with @alone
 * only the process. -EINVAL: @pid is a thread.
 */
_must_use_ int proc_asked(pid_t pid, bool alone, pid_vec *ret);

/* Returns the inode of PROCDIR/ns/@name ("pid", "mnt", ...); 0: the link isn't readable. */
uint64_t proc_ns(const struct proc *p, const char *name);

#endif
