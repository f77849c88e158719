/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out what a process runs, once after each exec, through /proc. Each ELF file is looked into
 * once, so the hundredth process of a program costs only a look at its mappings.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/far.h"
#include "base/system/log.h"
#include "base/system/self.h"
#include "collect/budget/crowd.h"
#include "collect/internal.h"
#include "collect/thread/thread.h"
#include "proc/files/files.h"
#include "proc/libc.h"
#include "proc/read/maps.h"
#include "proc/proc.h"
#include "proc/read/stat.h"

/* A process that has no interpreter this long after its start counts as "not Python". */
#define GIVE_UP_NS (3 * NSEC_PER_SEC)

/*
 * Limit of the work of looking through a C library's symbols. Some C libraries have a few hundred
 * local symbols besides the exported ones.
 */
#define LIBC_WORK (5 * SLICE_MS)

static void set_python(struct collect *c, struct process *p, uint16_t version)
{
	p->state = PROC_PYTHON;
	process_is_python(c, p, version);
}

static bool runs_once(const struct proc *proc)
{
	char exe[PATH_MAX];

	file_exe_path(proc->dirfd, exe, sizeof(exe));
	return image_runs_once(exe);
}

/*
 * Sets *ret to the interpreter's addresses as they are in its file, and to how a thread's
 * PyThreadState is found.
 */
static int locate_in_file(struct collect *c, const struct proc *proc, const struct maps *maps,
			  const struct image_file *f, bool own_program, struct py_where *ret)
{
	struct libc_info libc;
	struct slice slice;
	int r;

	*ret = f->image.where;
	ret->own_program = own_program;
	if (!own_program)
		ret->codes_made = 0;
	r = c->config.ops->add_layout(c->config.ctx, &f->image.layout, &ret->layout);
	if (r)
		return r;
	slice_begin(&slice, LIBC_WORK);
	r = libc_of_process(proc, maps, f->dynamic.linked, &libc);
	slice_end(&slice);
	if (!r)
		libc_set_where(ret, &libc);
	return r;
}

/*
 * Sets *ret to the absolute addresses of the process's first interpreter. Also tells the kernel
 * programs what the process's executable is.
 */
static int locate(struct collect *c, const struct proc *proc, const struct maps *maps,
		  const struct image_found *found, const struct exe_key *exe, struct py_where *ret)
{
	const struct image_file *f = found->first.file;
	int r = locate_in_file(c, proc, maps, f, runs_once(proc), ret);

	if (r)
		return r;
	image_teach(c, proc, maps, exe, f, ret);
	py_where_add_bias(ret, image_bias(&found->first));
	return 0;
}

/* Sets *ret to all interpreters of a process. The first interpreter is at @where. */
static void locate_others(struct collect *c, const struct proc *proc, const struct maps *maps,
			  const struct image_found *found, const struct py_where *where,
			  struct proc_several *ret)
{
	*ret = (struct proc_several){.tgid = (uint32_t)proc->tgid, .n = 1, .where[0] = *where};
	for (size_t i = 0; i < found->n_others; i++) {
		struct py_where *w = &ret->where[ret->n];

		if (locate_in_file(c, proc, maps, found->others[i].file, false, w))
			continue;
		py_where_add_bias(w, image_bias(&found->others[i]));
		process_note_version(c, found->others[i].file->image.layout.version);
		ret->n++;
	}
}

/* Tells the kernel programs about a process again: their map has lost its entry. */
static int tell_again(struct collect *c, const struct process *p)
{
	return c->config.ops->set_proc(c->config.ctx, &p->key, p->state,
				       p->state == PROC_PYTHON ? &p->where : NULL, NULL, p->slot);
}

static int refuse(struct collect *c, struct process *p, const char *reason)
{
	snprintf(p->unsupported, sizeof(p->unsupported), "%s", reason);
	p->state = PROC_UNSUPPORTED;
	p->mapping = c->marks;
	(void)!c->config.ops->set_proc(c->config.ctx, &p->key, PROC_UNSUPPORTED, NULL, NULL,
				       p->slot);
	space_wanted(p, SPACE_GONE);
	return err_set(-ENOTSUP, "process %u can't be profiled: %s", p->key.tgid, reason);
}

static int describe(struct collect *c, struct process *p, const struct proc *proc,
		    const struct maps *maps, const struct image_found *found,
		    const struct exe_key *exe)
{
	struct proc_several all;
	struct py_where where;
	int r = locate(c, proc, maps, found, exe, &where);

	/* -EAGAIN: the interpreter is still being loaded; the process's next sample asks again */
	if (r == -EAGAIN)
		return 0;
	if (r)
		return refuse(c, p, err_msg());
	locate_others(c, proc, maps, found, &where, &all);
	several_looked(p, found->waits, found->idle);
	if (p->state == PROC_PYTHON && !memcmp(&where, &p->where, sizeof(where)) &&
	    several_same(p->several, all.n > 1 ? &all : NULL)) {
		/* the kernel programs ask because they have forgotten the process */
		r = exe ? tell_again(c, p) : 0;
		return r ? r : 1;
	}
	p->where = where;
	set_python(c, p, found->first.file->image.layout.version);
	if (several_set(c, p, &all)) /* if this fails, only the first interpreter is shown */
		log_info("%s", err_msg());
	r = c->config.ops->set_proc(c->config.ctx, &p->key, PROC_PYTHON, &p->where, NULL, p->slot);
	space_wanted(p, SPACE_GONE);
	facts_read_start(c, p, proc);
	return r ? r : 1;
}

int process_ignore(struct collect *c, struct process *p)
{
	p->state = PROC_IGNORED;
	return c->config.ops->set_proc(c->config.ctx, &p->key, PROC_IGNORED, NULL, NULL, 0);
}

/* Notes that the process doesn't run Python. With --all its native stacks are shown. */
static int settle(struct collect *c, struct process *p)
{
	if (!c->config.all_processes)
		return process_ignore(c, p);
	p->state = PROC_NATIVE;
	space_wanted(p, SPACE_GONE);
	return c->config.ops->set_proc(c->config.ctx, &p->key, PROC_NATIVE, NULL, NULL, p->slot);
}

/*
 * Decides about a process without an interpreter. If its executable has nothing to do with Python,
 * the process is certainly not Python. Else it counts as not Python once it is GIVE_UP_NS old. The
 * kernel programs aren't told what the java command is, because its arguments decide whether it
 * runs Python.
 */
static int give_up(struct collect *c, struct process *p, const struct proc *proc,
		   const struct maps *maps, const struct exe_key *exe)
{
	const char *other = java_python(proc);

	if (other)
		return refuse(c, p, other);
	if (exe && java_is_exe(proc))
		return settle(c, p);
	if (exe && !image_may_come(c, proc, maps, exe)) {
		image_teach(c, proc, maps, exe, NULL, NULL);
		return settle(c, p);
	}
	if (clock_ns(CLOCK_MONOTONIC) - p->key.start_ns < GIVE_UP_NS)
		return 0;
	return settle(c, p);
}

/*
 * Tells the kernel programs what executable @exe of process @tgid holds, so that the next process
 * that runs it is recognized at once. @exe, the key of the executable, is from a record, because on
 * some file systems user space can't find out the key itself.
 */
static void teach_exe(struct collect *c, struct proc *proc, uint32_t tgid,
		      const struct exe_key *exe)
{
	uint64_t key = exe->dev ^ exe->ino << 20 ^ (uint64_t)exe->generation << 44 ^
		       (uint64_t)exe->mtime_ns;
	_cleanup_maps_ struct maps maps = {};
	struct image_found found;
	struct py_where where;

	if (map_get(&c->intake->taught, key) || proc_ensure(proc, (pid_t)tgid) ||
	    map_put(&c->intake->taught, key, 1))
		return;
	if (!maps_read(proc->dirfd, MAPS_EXEC, &maps) && image_find(c, proc, &maps, &found) > 0)
		(void)!locate(c, proc, &maps, &found, exe, &where);
}

/*
 * Reads the mappings of process @p, whose first record just came. @proc may be open for this
 * process already. If the mappings were read before but @rec doesn't name their slot (their place
 * in the kernel's map), the kernel program has forgotten the slot, and is told of it again.
 */
static void meet_space(struct collect *c, struct process *p, struct proc *proc,
		       const struct rec_proc *rec)
{
	if (p->slot && rec->space != p->slot)
		(void)!tell_again(c, p);
	else if (!rec->space && c->config.unwind && !process_has_ended(p))
		space_read_in(c, p, proc);
}

/*
 * Takes over a process that the kernel program recognized as Python: its executable is known, or it
 * is a fork of a known process.
 */
static void adopt(struct collect *c, struct process *p, const struct rec_proc *rec)
{
	const struct py_layout *layout = c->config.ops->layout(c->config.ctx, rec->where.layout);
	const struct process *parent = process_newest(c, rec->parent);
	_cleanup_proc_ struct proc proc = PROC_INIT;

	if (!layout)
		return;
	p->where = rec->where;
	set_python(c, p, layout->version);
	/*
	 * The process may have several interpreters: a program that embeds an interpreter may have
	 * a second one, and a fork has several if its parent has several.
	 */
	if (!rec->where.own_program || (parent && parent->several))
		several_wait(p);
	if (!facts_met(c, p, rec, &proc))
		return;
	if (p->unwanted) {
		(void)!process_ignore(c, p);
		return;
	}
	p->facts_due_ns = clock_ns(CLOCK_MONOTONIC) + FACTS_APART_NS;
	/* without .exe, the record is not from the kernel program but from krait itself */
	if (rec->exe.ino)
		teach_exe(c, &proc, p->key.tgid, &rec->exe);
	meet_space(c, p, &proc, rec);
}

/* Takes over a process that isn't Python, as the kernel program knows from its executable. */
static void adopt_native(struct collect *c, struct process *p, const struct rec_proc *rec)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;

	p->state = PROC_NATIVE;
	if (!facts_met(c, p, rec, &proc))
		return;
	if (p->unwanted)
		(void)!process_ignore(c, p);
	else
		meet_space(c, p, &proc, rec);
}

/*
 * Takes the first record of a process that was examined before its first sample. If the record
 * names another interpreter than krait found, the process has exec'ed since, and is treated as a
 * new process.
 */
static void confirm(struct collect *c, struct process *p, const struct rec_proc *rec)
{
	p->expected = false;
	if (rec->state == PROC_PYTHON && rec->space == p->slot)
		return;
	space_forget(c, p);
	made_close(c, p);
	several_forget(c, p);
	p->state = PROC_PENDING;
	p->version = 0;
}

/* True: too many processes are new, so samples of @p are only counted (crowd.h). */
static bool meet_new(struct collect *c, struct process *p, const struct rec_proc *rec)
{
	bool was_counted = p->state == PROC_CROWDED;

	if (crowd_meet(c, p, rec))
		return true;
	if (was_counted && p->state != PROC_CROWDED)
		thread_begin_anew(c, p);
	return false;
}

void process_met(struct collect *c, uint32_t i, const struct rec_proc *rec)
{
	struct process *p = process_at(c, i);

	if (p->expected)
		confirm(c, p, rec);
	facts_from_record(p, rec);
	/* a record that krait itself has made has no start time, and its .time_ns is too late */
	if (!p->met_ns && rec->start_boot_ns) {
		p->met_ns = rec->time_ns;
		p->task = rec->task;
	}
	p->seen_ns = MAX(p->seen_ns, rec->time_ns);
	p->ended |= thread_end_of(c, p->key.tgid, p->key.tgid, rec->time_ns) != 0;
	log_debug("process %u (exec number %u, started at %llu ns): the kernel's proc_state is %u",
		  rec->proc.tgid, rec->proc.exec_id,
		  (unsigned long long)proc_stat_start_of(rec->start_boot_ns), rec->state);
	if (meet_new(c, p, rec))
		return;
	if (rec->state == PROC_PYTHON)
		adopt(c, p, rec);
	else if (rec->state == PROC_NATIVE)
		adopt_native(c, p, rec);
	else if (rec->state == PROC_PENDING)
		(void)!process_examine(c, i, &rec->exe);
}

int process_examine(struct collect *c, uint32_t i, const struct exe_key *exe)
{
	struct process *p = process_at(c, i);
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_maps_ struct maps maps = {};
	struct image_found found;
	int r;

	if (!process_open(p, &proc))
		return -ESRCH;
	if (!facts_read(c, p, &proc))
		return process_ignore(c, p);
	r = proc_maps(&proc, MAPS_EXEC, &maps);
	if (r)
		return r;
	r = image_find(c, &proc, &maps, &found);
	if (r < 0)
		return refuse(c, p, err_msg());
	if (!r)
		return give_up(c, p, &proc, &maps, exe);
	image_left_out(c, p->key.tgid, &maps, &found.left_out);
	if (found.first.file->image.unsupported[0])
		return refuse(c, p, found.first.file->image.unsupported);
	return describe(c, p, &proc, &maps, &found, exe);
}

/*
 * 0: the process has no interpreter. -ENOTSUP: its interpreter isn't in an ELF file. -EACCES,
 * -EPERM: the process's executable can't be looked into, whatever it is called.
 */
static int none_found(struct collect *c, const struct proc *proc)
{
	_cleanup_close_ int fd = file_open_exe(proc->dirfd);
	const char *other = java_python(proc);

	if (other)
		return refused_note(c, proc->tgid, other);
	return fd == -EACCES || fd == -EPERM ? fd : 0;
}

/* Tells whether the name, control group and container of @proc fit config.match. */
static bool matches(const struct collect *c, const struct proc *proc)
{
	_cleanup_proc_facts_ struct proc_facts facts = {};

	return !c->config.match ||
	       (!proc_facts_read(proc, NULL, &facts) && proc_match(c->config.match, &facts));
}

/*
 * Tells the kernel program of Python process @proc before its first sample. @all: its interpreters.
 * @place: where its program lies in memory; by this the kernel program recognizes the process.
 */
static int expect(struct collect *c, const struct proc *proc, const struct proc_several *all,
		  const struct image_place *place, uint16_t version)
{
	const struct proc_key key = {.tgid = (uint32_t)proc->tgid};
	long i = process_of(c, &key);
	struct proc_stat stat;
	struct process *p;

	if (i < 0)
		return err_sys(-ENOMEM, "process %d", proc->tgid);
	p = process_at(c, i);
	p->expected = true;
	p->start_boot_ns = proc_stat_read(proc->dirfd, &stat) ? 0 : proc_stat_start_ns(&stat);
	p->where = all->where[0];
	p->place = *place;
	set_python(c, p, version);
	if (several_set(c, p, all)) /* if this fails, only the first interpreter is shown */
		log_info("%s", err_msg());
	return c->config.ops->set_proc(c->config.ctx, &key, PROC_PYTHON, &p->where, place, 0);
}

/* Python loads its first files within this time after an exec */
#define EAGER_NS NSEC_PER_SEC

void process_expect_first(struct collect *c, const struct proc *proc, const struct py_where *where,
			  const struct proc_stat *stat, uint16_t version)
{
	const struct image_place place = {stat->start_code, stat->start_stack};
	const struct proc_several one = {.n = 1, .where[0] = *where};
	struct process *p;

	if (expect(c, proc, &one, &place, version))
		return;
	p = process_newest(c, (uint32_t)proc->tgid);
	if (!p)
		return;
	p->eager = true;
	p->eager_ns = clock_ns(CLOCK_MONOTONIC) + EAGER_NS;
	space_read(c, p);
}

/*
 * Reads the key by which the kernel program knows the process's executable. False: the file system
 * doesn't give the key.
 */
static bool read_exe_key(const struct proc *proc, struct exe_key *ret)
{
	_cleanup_close_ int fd = file_open_exe(proc->dirfd);

	return fd >= 0 && !image_key(fd, ret);
}

int collect_examine(struct collect *c, pid_t tgid)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_maps_ struct maps maps = {};
	struct image_found found;
	struct proc_several all;
	struct py_where where;
	struct image_place place;
	struct proc_stat stat;
	struct exe_key exe;
	struct process *p;
	int r = proc_open(&proc, tgid);

	if (!r)
		(void)proc_use_another_thread(&proc);
	/*
	 * The status is read before the mappings. If the process execs in between, the place (where
	 * in memory the program lies) is that of the old program, and doesn't fit the new one.
	 */
	if (!r)
		r = proc_stat_read(proc.dirfd, &stat);
	if (r)
		return r;
	if (c->config.may_see && !c->config.may_see(proc.dirfd))
		return err_set(-EPERM, "process %d is another user's; `sudo %s ...` shows it", tgid,
			       self_under_sudo());
	r = proc_maps(&proc, MAPS_EXEC, &maps);
	if (!r)
		r = image_find(c, &proc, &maps, &found);
	r = r ? r : none_found(c, &proc);
	if (r == -ENOTSUP)
		return r;
	if (r <= 0)
		return r ? err_wrap(r, "process %d", tgid) : 0;
	image_left_out(c, (uint32_t)tgid, &maps, &found.left_out);
	if (found.first.file->image.unsupported[0])
		return refused_image(c, tgid, &found.first);
	r = locate(c, &proc, &maps, &found, read_exe_key(&proc, &exe) ? &exe : NULL, &where);
	place = (struct image_place){stat.start_code, stat.start_stack};
	if (!r && place.start_code && matches(c, &proc)) {
		locate_others(c, &proc, &maps, &found, &where, &all);
		r = expect(c, &proc, &all, &place, found.first.file->image.layout.version);
		p = process_newest(c, (uint32_t)tgid);
		if (p)
			several_looked(p, found.waits, found.idle);
	}
	return r ? r : 1;
}
