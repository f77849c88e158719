/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process: what it is called, whose it is, where it belongs. Everything is read through one
 * descriptor of /proc/PID, which refers to that process for good: once it is gone, reads fail with
 * -ESRCH, even if its number is used again. What a process says of itself (comm, cmdline) is
 * hostile: any bytes, any length, bounded here.
 */
#ifndef PROC_PROC_H
#define PROC_PROC_H

#include <sys/types.h>
#include "base/util.h"
#include "base/str.h"
#include "base/vec.h"

#define PROC_CMDLINE_BYTES 4096 /* of the command line that are kept */
#define PROC_CGROUP_BYTES  4096
#define PROC_COMM_BYTES	   16

struct proc {
	pid_t tgid; /* in the PID namespace of /proc (krait's own) */
	int dirfd;  /* of /proc/TGID */
};

/* Opens /proc/@tgid. 0; -ESRCH with a message if there is no such process. */
_must_use_ int proc_open(struct proc *p, pid_t tgid);
void proc_close(struct proc *p);
#define PROC_INIT      ((struct proc){.dirfd = -1})
#define _cleanup_proc_ _cleanup_(proc_close)

/* What is known of a process. Zero-initialise; proc_facts_fini() frees. Strings are never NULL. */
struct proc_facts {
	pid_t tgid;
	uint64_t
		start_boot_ns; /* since boot (CLOCK_BOOTTIME), granularity one clock tick (10 ms) */
	bool kernel_thread;
	char comm[PROC_COMM_BYTES];
	char *name;	 /* for people: script or module, see proc_name_from() */
	char *cgroup;	 /* path in the v2 hierarchy, else the longest one of v1; "/" if none */
	char *container; /* id (64 hex digits) or machine name; "" = none */
	char *claim;	 /* the same of one that it may only say it is in; "" = none */
	uid_t claim_uid; /* whose word that is; (uid_t)-1: not known */
};

/*
 * Fills @ret. @name: what it is called, where that is known; NULL: its command line is read. 0; -ESRCH if it is
 * gone; -errno with a message. What can't be read for lack of rights stays empty: only tgid, comm and name are
 * always there.
 */
_must_use_ int proc_facts_read(const struct proc *p, const char *name, struct proc_facts *ret);
void proc_facts_fini(struct proc_facts *f);
#define _cleanup_proc_facts_ _cleanup_(proc_facts_fini)

/*
 * The name people know a process by. @cmdline: @n bytes of /proc/PID/cmdline (NUL-separated), @exe:
 * target of /proc/PID/exe or NULL, @comm: not NULL. Control characters become '?'. Appends to @ret.
 * - python3 -u /srv/app.py, /usr/bin/gunicorn wsgi:app: app.py, gunicorn
 * - python -m http.server: http.server
 * - python3 -c 'print(1)', python3: python3 -c, python3
 * - python3 -c 'from multiprocessing.spawn import ...': multiprocessing.spawn
 * - gunicorn: worker [app] (setproctitle): gunicorn
 * - /opt/host/embedder: embedder
 */
void proc_name_from(const char *cmdline, size_t n, const char *exe, const char *comm,
		    struct str *ret);

/*
 * Does the beginning of a command line, in a buffer of @n bytes, say the name whatever the executable is? It is whole
 * and an interpreter's.
 */
bool proc_name_is_said(const char *cmdline, size_t n);

/* Name of a running process alone, without its other facts; @name: heap, caller frees. */
_must_use_ int proc_name(const struct proc *p, char **ret);

/* comm of thread @tid of @p (@tid == tgid: of the process). 0, -ESRCH. */
_must_use_ int proc_comm(const struct proc *p, pid_t tid, char ret[static PROC_COMM_BYTES]);

typedef VEC(pid_t) pid_vec;

/* All processes that /proc shows, ascending. 0 or -errno with a message. */
_must_use_ int proc_list(pid_vec *ret);

/* Is /proc there, and does it number processes as krait's own pid namespace does? 0 or -errno + message. */
_must_use_ int proc_check_mount(void);

/* Is it over? It is gone, or a zombie: its first thread has ended and there is no other one. */
bool proc_has_ended(const struct proc *p);

/* The threads of @p. 0, -ESRCH, -errno. */
_must_use_ int proc_threads(const struct proc *p, pid_vec *ret);

/*
 * Where the first thread has ended and others go on, /proc/TGID shows neither memory nor files. From then on .dirfd is
 * another thread's, of which /proc has all, but its own times and state. False: there is no need, or no other one.
 */
bool proc_use_another_thread(struct proc *p);

/* Its mappings, as maps_read(), if need be so. */
struct maps;
_must_use_ int proc_maps(struct proc *p, unsigned want, struct maps *ret);

/*
 * @root and all processes that descend from it at this moment (children of any of its threads, and
 * theirs), @root first. A descendant whose parent has died in between belongs to init, not here.
 * 0, -ESRCH, -errno.
 */
_must_use_ int proc_tree(pid_t root, pid_vec *ret);

/* The process that was asked for by number, and its tree unless it is wanted @alone. As proc_tree(); -EINVAL: a thread's. */
_must_use_ int proc_asked(pid_t pid, bool alone, pid_vec *ret);

/* Inode of PROCDIR/ns/@name ("pid", "mnt", ...), 0 if not readable. */
uint64_t proc_ns(const struct proc *p, const char *name);

#endif
