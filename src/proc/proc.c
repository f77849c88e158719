/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the facts of one process through a descriptor of its /proc directory. */
#include "proc/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "proc/read/aside.h"
#include "proc/container/cgroups.h"
#include "proc/container/container.h"
#include "proc/container/container_claim.h"
#include "proc/machine/hidepid.h"
#include "proc/files/files.h"
#include "proc/read/stat.h"

#define CGROUP_BYTES	(64u << 10)
#define MOUNTINFO_BYTES (1u << 20)

int proc_open(struct proc *p, pid_t tgid)
{
	char path[32];
	int fd;

	*p = PROC_INIT;
	snprintf(path, sizeof(path), "/proc/%d", tgid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ESRCH || tgid <= 0))
		return proc_not_there(tgid);
	if (fd < 0)
		return proc_not_open(tgid, -errno);
	p->tgid = tgid;
	p->dirfd = fd;
	return 0;
}

int proc_ensure(struct proc *p, pid_t tgid)
{
	return p->dirfd >= 0 ? 0 : proc_open(p, tgid);
}

void proc_close(struct proc *p)
{
	if (p->dirfd >= 0)
		close(p->dirfd);
	*p = PROC_INIT;
}

uint64_t proc_ns(const struct proc *p, const char *name)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "ns/%s", name);
	return fstatat(p->dirfd, path, &st, 0) ? 0 : st.st_ino;
}

int proc_comm(const struct proc *p, pid_t tid, char ret[static PROC_COMM_BYTES])
{
	_cleanup_str_ struct str text = {};
	char path[40];
	size_t n;
	int r;

	snprintf(path, sizeof(path), "task/%d/comm", tid);
	r = proc_file_read_whole(p->dirfd, path, 64, &text);
	if (r)
		return r == -ENOENT ? -ESRCH : r;
	n = text.n && text.s[text.n - 1] == '\n' ? text.n - 1 : text.n;
	n = MIN(n, (size_t)PROC_COMM_BYTES - 1);
	memcpy(ret, str_cstr(&text), n);
	ret[n] = '\0';
	return 0;
}

static char *name_of(const struct proc *p, const struct str *cmdline, const char *comm)
{
	_cleanup_str_ struct str name = {};
	/*
	 * path of the process's program; only its last component matters, and only if it is short
	 */
	char exe[512];

	file_exe_path(p->dirfd, exe, sizeof(exe));
	proc_name_from(str_cstr(cmdline), cmdline->n, exe, comm, &name);
	return str_take(&name);
}

int proc_name(const struct proc *p, char **ret)
{
	_cleanup_str_ struct str cmdline = {};
	char comm[PROC_COMM_BYTES];
	int r = proc_comm(p, p->tgid, comm);

	if (!r)
		r = aside_read(p->dirfd, "cmdline", PROC_CMDLINE_BYTES, &cmdline);
	if (r && r != -ETIMEDOUT)
		return err_sys(r, "can't read the name of process %d", p->tgid);
	*ret = name_of(p, &cmdline, comm);
	return *ret ? 0 : -ENOMEM;
}

/*
 * Appends to @ret the container that the cgroup's @path names, as far as that can be believed.
 * @text: /proc/PID/cgroup.
 */
static void prove_place(struct proc_facts *f, const char *path, const struct str *text,
			struct str *ret)
{
	_cleanup_str_ struct str believed = {};

	str_add_n(&believed, path,
		  container_believed(str_cstr(text), text->n, path, &f->claim_uid));
	(void)container_from_cgroup(str_cstr(&believed), ret);
}

/*
 * Reads cgroup and container of a process; what can't be read stays empty. @group: the control
 * groups by which .shared is decided, or NULL.
 */
static int read_place(const struct proc *p, const __u64 *group, struct proc_facts *f)
{
	_cleanup_str_ struct str text = {}, path = {}, id = {}, claim = {};
	int r;

	r = proc_file_read_whole(p->dirfd, "cgroup", CGROUP_BYTES, &text);
	if (r == -ESRCH)
		return r;
	if (!r)
		cgroup_path(str_cstr(&text), text.n, &path);
	if (path.n > PROC_CGROUP_BYTES)
		path.s[path.n = PROC_CGROUP_BYTES] = '\0';
	f->claim_uid = (uid_t)-1;
	/*
	 * .shared isn't set further down, where the container is read from mountinfo: other
	 * processes of the same control groups may be in another container
	 */
	f->shared = group && path.n > 1 && cgroups_are(str_cstr(&text), group);
	if (container_from_cgroup(str_cstr(&path), &claim)) {
		prove_place(f, str_cstr(&path), &text, &id);
		if (streq(str_cstr(&claim), str_cstr(&id)))
			str_clear(&claim);
	} else if (streq(str_cstr(&path), "/")) {
		/*
		 * mountinfo can be long, so it is read only if krait's own cgroup namespace may
		 * hide the path
		 */
		str_clear(&text);
		if (!proc_file_read(p->dirfd, "mountinfo", MOUNTINFO_BYTES, &text))
			container_from_mountinfo(str_cstr(&text), text.n,
						 container_mounts_believed(p->dirfd) ? &id
										     : &claim);
	}
	f->cgroup = str_take(&path);
	f->container = str_take(&id);
	f->claim = str_take(&claim);
	return f->cgroup && f->container && f->claim ? 0 : -ENOMEM;
}

static int read_all(const struct proc *p, const char *name, struct proc_facts *f)
{
	_cleanup_str_ struct str cmdline = {};
	struct proc_stat stat;
	int r = proc_stat_read(p->dirfd, &stat);

	if (r)
		return r;
	if (!name)
		r = aside_read(p->dirfd, "cmdline", PROC_CMDLINE_BYTES, &cmdline);
	if (r == -EACCES || r == -EPERM || r == -ETIMEDOUT)
		/*
		 * the command line isn't readable (hidepid, Yama, or no answer in time), so the
		 * name is comm
		 */
		r = 0;
	if (r)
		return r;
	f->tgid = p->tgid;
	f->start_boot_ns = proc_stat_start_ns(&stat);
	f->kernel_thread = stat.flags & PROC_PF_KTHREAD;
	memcpy(f->comm, stat.comm, sizeof(f->comm));
	f->name = name ? strdup(name) : name_of(p, &cmdline, f->comm);
	return f->name ? read_place(p, NULL, f) : -ENOMEM;
}

int proc_facts_read(const struct proc *p, const char *name, struct proc_facts *ret)
{
	struct proc_facts f = {};
	int r = read_all(p, name, &f);

	if (r) {
		proc_facts_fini(&f);
		return r == -ESRCH ? err_set(r, "process %d has ended", p->tgid)
				   : err_sys(r, "can't read about process %d", p->tgid);
	}
	*ret = f;
	return 0;
}

int proc_facts_read_place(const struct proc *p, const __u64 *group, struct proc_facts *ret)
{
	struct proc_facts f = {.tgid = p->tgid};
	int r = read_place(p, group, &f);

	if (r)
		proc_facts_fini(&f);
	else
		*ret = f;
	return r;
}

void proc_facts_fini(struct proc_facts *f)
{
	free(f->name);
	free(f->cgroup);
	free(f->container);
	free(f->claim);
	*f = (struct proc_facts){};
}
