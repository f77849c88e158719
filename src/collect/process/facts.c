/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads facts about a process: its name, control group, container, directory, and what it was told
 * to run; see process.h.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/far.h"
#include "base/system/log.h"
#include "collect/process/process.h"
#include "proc/read/aside.h"
#include "proc/entry.h"
#include "proc/files/files.h"
#include "proc/read/owner.h"
#include "proc/read/stat.h"

/*
 * Reads the working directory of a process. The paths of its files are shown relative to it
 * (view/names/dirs.h). @at: the kernel's numbers of the control groups and the directory that the
 * process had a moment ago (struct proc_place), or NULL. Returns true if all processes with the
 * same numbers have this directory.
 */
static bool read_directory(struct process *p, const struct proc *proc, const struct proc_place *at)
{
	bool was_read = p->directory, same;
	char path[PATH_MAX];
	ssize_t n;

	if (was_read)
		return false;
	same = at && known_place_directory(proc, &at->dir, path, &n);
	if (!same)
		n = readlinkat(proc->dirfd, "cwd", path, sizeof(path));
	if (n > 1 && (size_t)n < sizeof(path) && *path == '/')
		p->directory = strndup(path, (size_t)n);
	return same;
}

#define ARGUMENTS_BYTES	  (64 << 10)
#define ENVIRONMENT_BYTES (256 << 10)
#define SCRIPT_BYTES	  (16 << 10)

static void read_script(const struct process *p, const struct proc *proc, const char *script,
			struct str *entry)
{
	_cleanup_str_ struct str path = {};
	_cleanup_free_ char *text = malloc(SCRIPT_BYTES + 1);
	_cleanup_close_ int fd = -1;
	ssize_t n;

	if (*script != '/')
		str_addf(&path, "%s/", p->directory ?: "");
	str_add(&path, script);
	fd = file_open_in_root(proc->dirfd, str_cstr(&path));
	n = text && fd >= 0 ? far_pread(fd, text, SCRIPT_BYTES, 0) : -1;
	if (n <= 0)
		return;
	text[n] = '\0';
	proc_entry_from_script(text, entry);
}

/*
 * Reads from the arguments of the process which package it was told to run: that package is the
 * user's own code (view/names/origin.h). Only some programs run packages by name.
 */
static void read_entry(struct process *p, const struct proc *proc)
{
	_cleanup_str_ struct str words = {}, entry = {};
	const char *script;

	if (p->entry || !p->name || !proc_entry_is_told(p->name))
		return;
	if (!aside_read(proc->dirfd, "cmdline", ARGUMENTS_BYTES, &words))
		proc_entry_from(p->name, str_cstr(&words), words.n, &entry);
	script = proc_entry_script(p->name, str_cstr(&words), words.n);
	if (script && !entry.n) /* !entry.n: the arguments name no package */
		read_script(p, proc, script, &entry);
	str_clear(&words);
	if (!aside_read(proc->dirfd, "environ", ENVIRONMENT_BYTES, &words))
		proc_entry_from_environment(p->name, str_cstr(&words), words.n, &entry);
	p->entry = str_take(&entry);
}

/*
 * Reads which user the process belongs to, if that is wanted. A process that may act as several
 * users counts as no user's, because not each of these users may see what it does.
 */
static void read_user(const struct collect *c, struct process *p, const struct proc *proc)
{
	_cleanup_(proc_owner_fini) struct proc_owner owner = {};

	if (c->config.users && !proc_owner_read(proc->dirfd, &owner))
		p->runs_as = owner.mixed ? 0 : owner.uid + 1ull;
}

/* Finds out which service the process belongs to, if that is wanted. */
static void read_service(const struct collect *c, struct process *p, const struct proc *proc)
{
	const struct service_process of = {.procdir = proc->dirfd,
					   .name = p->name,
					   .cgroup = p->cgroup,
					   .container = p->container,
					   .directory = p->directory};

	if (!c->config.services)
		return;
	service_fini(&p->service);
	service_find(c->config.services, &of, &p->service);
}

static void take_place(struct process *p, struct proc_facts *facts)
{
	free(p->cgroup);
	free(p->container);
	p->cgroup = TAKE_PTR(facts->cgroup);
	p->container = TAKE_PTR(facts->container);
}

/*
 * Reads name, control group and container of a process. False: config.match doesn't want the
 * process.
 */
static bool read_all(struct collect *c, struct process *p, const struct proc *proc)
{
	_cleanup_proc_facts_ struct proc_facts facts = {};

	if (proc_facts_read(proc, p->name_is_said ? p->name : NULL, &facts))
		return true; /* the process is gone: what was read before stays */
	p->start_boot_ns = facts.start_boot_ns;
	free(p->name);
	p->name = TAKE_PTR(facts.name);
	take_place(p, &facts);
	facts.name = strdup(p->name ? p->name : "");
	facts.cgroup = strdup(p->cgroup ? p->cgroup : "");
	facts.container = strdup(p->container ? p->container : "");
	return !c->config.match || proc_match(c->config.match, &facts);
}

/*
 * Reads those facts that the process's first record doesn't have. @at: the kernel's numbers of the
 * control groups and the directory that the process had when the record was made (struct
 * proc_place), or NULL. Returns true if all processes with the same numbers have the same control
 * group and container.
 */
static bool read_rest(struct process *p, const struct proc *proc, const struct proc_place *at)
{
	_cleanup_proc_facts_ struct proc_facts facts = {};

	if (proc_facts_read_place(proc, at ? at->group : NULL, &facts))
		return false;
	take_place(p, &facts);
	return facts.shared;
}

/* Are the process's name and start time in its first record? */
static bool is_said(const struct collect *c, const struct process *p)
{
	return !c->config.match && p->name_is_said && p->start_boot_ns;
}

/*
 * Reads the facts of a process, as facts_read() does. @at: the kernel's numbers of its control
 * groups and its directory (struct proc_place). *same: the result of read_rest().
 */
static bool read_at(struct collect *c, struct process *p, const struct proc *proc,
		    const struct proc_place *at, bool *same)
{
	/* most new processes end soon, so krait reads as little as possible about them */
	bool said = is_said(c, p), wanted = said || read_all(c, p, proc);
	bool foreign = wanted && c->config.may_see && !c->config.may_see(proc->dirfd);

	*same = said && read_rest(p, proc, at);
	c->stats.foreign += foreign && !p->foreign;
	p->foreign |= foreign;
	p->unwanted = !wanted || foreign;
	return !p->unwanted;
}

bool facts_read(struct collect *c, struct process *p, const struct proc *proc)
{
	bool same, wanted = read_at(c, p, proc, NULL, &same);

	if (wanted) {
		read_user(c, p, proc);
		read_service(c, p, proc);
	}
	return wanted;
}

/*
 * May the process of @rec get the name, container and so on of another process that has the same
 * directory and control group? No, if its name in the profile also depends on its user or on its
 * arguments.
 */
static bool may_share(const struct collect *c, const struct process *p, const struct rec_proc *rec)
{
	return rec->state == PROC_PYTHON && is_said(c, p) && !c->config.may_see &&
	       !c->config.services && !proc_entry_is_told(p->name) && rec->place.group[0] &&
	       rec->place.dir.mount;
}

bool facts_met(struct collect *c, struct process *p, const struct rec_proc *rec, struct proc *proc)
{
	const struct proc_place *at = may_share(c, p, rec) ? &rec->place : NULL;
	bool same, python = rec->state == PROC_PYTHON;

	if (at && known_place_find(c, at, rec->time_ns, p)) {
		log_debug("process %u gets the name and container of an earlier process with the "
			  "same directory and control group",
			  p->key.tgid);
		p->unwanted = false;
		if (c->config.users && process_open(p, proc))
			read_user(c, p, proc);
		return true;
	}
	if (!process_open(p, proc))
		return false;
	if (!read_at(c, p, proc, at, &same))
		return true;
	if (python) {
		same &= read_directory(p, proc, at);
		read_entry(p, proc);
	}
	read_user(c, p, proc);
	read_service(c, p, proc);
	if (python && same)
		known_place_keep(c, at, p);
	return true;
}

/*
 * Takes what the kernel program read of the process. If the process has ended by now, krait knows
 * nothing else of it. If a fork has exec'ed by now, /proc has only the name since the exec.
 */
void facts_from_record(struct process *p, const struct rec_proc *rec)
{
	_cleanup_str_ struct str name = {};

	/* krait may have read the start time of an earlier process with the same number */
	p->start_boot_ns = proc_stat_start_of(rec->start_boot_ns) ?: p->start_boot_ns;
	memcpy(p->comm, rec->comm, MIN(sizeof(p->comm), sizeof(rec->comm)));
	p->comm[sizeof(p->comm) - 1] = '\0';
	proc_name_from(rec->args, sizeof(rec->args), NULL, p->comm, &name);
	if (p->name)
		return;
	p->name = str_take(&name);
	p->name_is_said = p->name && proc_name_is_said(rec->args, sizeof(rec->args));
}

/*
 * Most processes never change after their start. If a process hasn't changed for some time, its
 * stamp (proc/stamp.h), which shows most changes, is read again after a quarter of that time, but
 * at least this often.
 */
#define STAMP_MOST_NS (10 * NSEC_PER_SEC)
/*
 * The process's stamp (proc/stamp.h) doesn't show every change. So name, control group and
 * container are also read again while the stamp stays the same: after as much time as the stamp has
 * been the same, within these bounds.
 */
#define READ_LEAST_NS (10 * NSEC_PER_SEC)
#define READ_MOST_NS  (60 * NSEC_PER_SEC)

/*
 * Takes over what has changed of the process's name, user, control group and container. False: the
 * process's next samples aren't wanted.
 */
static bool take_renewed(struct collect *c, struct process *p, const struct proc *proc,
			 struct proc_facts *facts, bool *changed)
{
	uint64_t before = p->runs_as;

	if (c->config.match && !proc_match(c->config.match, facts))
		return false;
	read_user(c, p, proc);
	*changed = p->runs_as != before;
	if (p->cgroup && p->container && streq(facts->cgroup, p->cgroup) &&
	    streq(facts->container, p->container))
		return true;
	take_place(p, facts);
	*changed = true;
	return true;
}

/*
 * Returns true if name, control group and container needn't be read now. Otherwise sets *ret to the
 * process's present stamp (proc/stamp.h), or to an empty stamp if it can't be read.
 */
static bool is_unchanged(struct process *p, uint64_t now_ns, struct proc_stamp *ret)
{
	if (p->stamp.dir && now_ns < p->stamp_due_ns)
		return true;
	if (proc_stamp_read((pid_t)p->key.tgid, ret) || !proc_stamp_same(ret, &p->stamp)) {
		p->stamp_since_ns = p->stamp_due_ns = now_ns;
		return false;
	}
	p->stamp_due_ns = now_ns + MIN((now_ns - p->stamp_since_ns) / 4, STAMP_MOST_NS);
	return now_ns < p->stamp_until_ns;
}

bool facts_renew(struct collect *c, struct process *p, uint64_t now_ns, bool *changed)
{
	_cleanup_proc_facts_ struct proc_facts facts = {};
	_cleanup_proc_ struct proc proc = PROC_INIT;
	struct proc_stamp stamp = {};
	uint64_t same_ns;

	*changed = false;
	/*
	 * a new name of the process doesn't change its stamp, and config.match may choose processes
	 * by name
	 */
	if (!c->config.match && is_unchanged(p, now_ns, &stamp))
		return true;
	p->stamp = (struct proc_stamp){};
	if (proc_open(&proc, p->key.tgid) || proc_facts_read(&proc, p->name, &facts) ||
	    facts.start_boot_ns != p->start_boot_ns)
		return true;
	same_ns = now_ns - p->stamp_since_ns;
	p->stamp = stamp;
	p->stamp_until_ns = now_ns + MIN(MAX(same_ns, READ_LEAST_NS), READ_MOST_NS);
	return take_renewed(c, p, &proc, &facts, changed);
}

void facts_read_start(struct collect *c, struct process *p, const struct proc *proc)
{
	(void)read_directory(p, proc, NULL);
	read_entry(p, proc);
	read_user(c, p, proc);
	read_service(c, p, proc);
}
