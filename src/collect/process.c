/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Process images: found by the records' keys, examined once through /proc. What an ELF file holds
 * is learnt once per file, so that the hundredth worker costs a look at its mappings only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/internal.h"
#include "proc/files.h"
#include "proc/libc.h"
#include "proc/maps.h"
#include "proc/proc.h"

/* A process that still has no interpreter this long after its start is called "not Python". */
#define GIVE_UP_NS (3 * NSEC_PER_SEC)

static uint64_t key_hash(const struct proc_key *k)
{
	return k->start_ns * 0x9e3779b97f4a7c15ull ^ (uint64_t)k->exec_id << 32 ^ k->tgid;
}

long process_of(struct collect *c, const struct proc_key *key)
{
	uint64_t *i = map_get(&c->by_key, key_hash(key));
	struct process p = {.key = *key, .state = PROC_PENDING};

	if (i)
		return *i - 1;
	if (vec_push(&c->processes, p) || map_put(&c->by_key, key_hash(key), c->processes.n) ||
	    map_put(&c->by_tgid, key->tgid, c->processes.n))
		return -ENOMEM;
	return c->processes.n - 1;
}

/* What is in the file behind @m; NULL if it can't be opened. */
static struct image_file *file_of(struct collect *c, const struct proc *proc,
				  const struct mapping *m, const char *path)
{
	uint64_t key = m->dev * 0x9e3779b97f4a7c15ull ^ m->ino;
	uint64_t *i = map_get(&c->file_index, key);
	struct image_file f = {.dev = m->dev, .ino = m->ino};
	_cleanup_close_ int fd = -1;
	int r;

	if (i)
		return &c->files.v[*i - 1];
	fd = file_open_mapping(proc->dirfd, m, path, NULL);
	if (fd < 0)
		return NULL;
	r = py_image_read(fd, path, &f.image);
	if (r < 0)
		log_info("%s: %s", path, err_msg());
	f.is_python = r > 0;
	if (vec_push(&c->files, f) || map_put(&c->file_index, key, c->files.n))
		return NULL;
	return &c->files.v[c->files.n - 1];
}

static bool named_python(const char *path)
{
	const char *base = strrchr(path, '/');

	return strstr(base ? base : path, "python") || strstr(base ? base : path, "pypy");
}

/*
 * The file with the interpreter and its lowest executable mapping. Files called python come first;
 * if none of them has it, every executable mapping is looked at (embedded interpreters).
 */
static struct image_file *find_image(struct collect *c, const struct proc *proc,
				     const struct maps *maps, const struct mapping **at)
{
	for (int all = 0; all < 2; all++) {
		vec_foreach(m, &maps->list) {
			const char *path = maps_path(maps, m);
			struct image_file *f;

			if (!m->ino || !(m->prot & 4) || named_python(path) != !all)
				continue;
			f = file_of(c, proc, m, path);
			if (!f || !f->is_python)
				continue;
			*at = m;
			return f;
		}
	}
	return NULL;
}

static void set_libc(struct py_where *w, const struct proc *proc, const struct maps *maps)
{
	enum libc_kind kind = LIBC_NONE;
	const struct mapping *threads = NULL, *m = libc_find(maps, &kind, &threads);
	struct libc_info info = libc_default(kind == LIBC_NONE ? LIBC_GLIBC : kind);

	if (threads)
		m = threads;
	if (m) {
		_cleanup_close_ int fd = file_open_mapping(proc->dirfd, m, maps_path(maps, m), NULL);

		if (fd >= 0)
			info = libc_read(fd, kind);
	}
	w->tsd_offset = info.tsd_offset;
#if defined(__aarch64__)
	/* struct pthread ends at the thread pointer; its specific_1stblock lies 272 from its start. */
	w->self_offset = info.tsd_offset - 272;
#endif
	if (info.kind != LIBC_MUSL)
		return;
	if (w->tss == PY_TSS_KEY_GLIBC)
		w->tss = PY_TSS_KEY_MUSL;
	if (w->tss == PY_TSS_TLS_DTV)
		w->tss = PY_TSS_TLS_DTV_MUSL;
}

static void add_bias(struct py_where *w, uint64_t bias)
{
	__u64 *fields[] = {&w->tstate_current, &w->interp_head, &w->tss_key, &w->tls_got,
			      &w->code_type};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (*fields[i])
			*fields[i] += bias;
}

/* Tells the kernel programs of the executable, so that the next process needs no answer. */
static void teach_exe(struct collect *c, const struct exe_key *exe, const struct mapping *at,
		      const struct py_image *image, const struct py_where *where)
{
	struct exe_entry e = {.where = *where, .start_vaddr = image->start_vaddr};

	if (!exe || exe->ino != at->ino || (exe->dev != at->dev && at->dev))
		return;
	(void)!c->config.ops->add_exe(c->config.ctx, exe, &e);
}

static int describe(struct collect *c, struct process *p, const struct proc *proc,
		    const struct maps *maps, const struct image_file *f, const struct mapping *at,
		    const struct exe_key *exe)
{
	struct py_where where = f->image.where;
	uint64_t bias = f->image.exec_fixed ? 0 : at->start - (f->image.start_vaddr & ~4095ull);
	char name[32];
	int r;

	p->version = f->image.layout.version;
	snprintf(name, sizeof(name), "[python %u.%u]", p->version >> 8, p->version & 0xff);
	p->mapping = profile_mapping(c->profile, &(struct profile_mapping){
		.name = profile_string(c->profile, name), .kind = KIND_PYTHON});
	r = c->config.ops->add_layout(c->config.ctx, &f->image.layout, &where.layout);
	if (r)
		return r;
	set_libc(&where, proc, maps);
	teach_exe(c, exe, at, &f->image, &where);
	add_bias(&where, bias);
	p->state = PROC_PYTHON;
	p->where = where;
	r = c->config.ops->set_proc(c->config.ctx, &p->key, PROC_PYTHON, &where);
	return r ? r : 1;
}

static int refuse(struct collect *c, struct process *p, const char *reason)
{
	snprintf(p->unsupported, sizeof(p->unsupported), "%s", reason);
	p->state = PROC_UNSUPPORTED;
	p->mapping = c->marks;
	(void)!c->config.ops->set_proc(c->config.ctx, &p->key, PROC_UNSUPPORTED, NULL);
	return err_set(-ENOTSUP, "process %u: %s can't be profiled", p->key.tgid, reason);
}

static int give_up(struct collect *c, struct process *p)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((uint64_t)now.tv_sec * NSEC_PER_SEC + now.tv_nsec - p->key.start_ns < GIVE_UP_NS)
		return 0;
	p->state = PROC_IGNORED;
	(void)!c->config.ops->set_proc(c->config.ctx, &p->key, PROC_IGNORED, NULL);
	return 0;
}

/* Name, cgroup, container; false if the process isn't wanted. */
static bool read_facts(struct collect *c, struct process *p, const struct proc *proc)
{
	_cleanup_proc_facts_ struct proc_facts facts = {};

	if (proc_facts_read(proc, &facts))
		return true; /* gone: what it left is kept */
	p->start_boot_ns = facts.start_boot_ns;
	free(p->name);
	free(p->cgroup);
	free(p->container);
	p->name = TAKE_PTR(facts.name);
	p->cgroup = TAKE_PTR(facts.cgroup);
	p->container = TAKE_PTR(facts.container);
	facts.name = strdup(p->name ? p->name : "");
	facts.cgroup = strdup(p->cgroup ? p->cgroup : "");
	facts.container = strdup(p->container ? p->container : "");
	return !c->config.match || proc_match(c->config.match, &facts);
}

int process_examine(struct collect *c, uint32_t i, const struct exe_key *exe)
{
	struct process *p = &c->processes.v[i];
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_maps_ struct maps maps = {};
	const struct mapping *at = NULL;
	struct image_file *f;
	int r;

	r = proc_open(&proc, p->key.tgid);
	if (r)
		return r;
	if (!read_facts(c, p, &proc) || (c->config.may_see && !c->config.may_see(proc.dirfd))) {
		p->state = PROC_IGNORED;
		return c->config.ops->set_proc(c->config.ctx, &p->key, PROC_IGNORED, NULL);
	}
	r = maps_read(proc.dirfd, MAPS_EXEC, &maps);
	if (r)
		return r;
	f = find_image(c, &proc, &maps, &at);
	if (!f)
		return give_up(c, p);
	if (f->image.unsupported[0])
		return refuse(c, p, f->image.unsupported);
	return describe(c, p, &proc, &maps, f, at, exe);
}

void collect_mapped(struct collect *c, uint32_t tgid, uint64_t dev, uint64_t ino)
{
	uint64_t *i = map_get(&c->by_tgid, tgid);
	struct process *p = i ? &c->processes.v[*i - 1] : NULL;

	if (p && (p->state == PROC_PENDING || p->state == PROC_IGNORED))
		(void)!process_examine(c, *i - 1, NULL);
}

void collect_comm(struct collect *c, uint32_t tgid, uint32_t tid, const char *comm, bool exec)
{
	uint64_t *i = map_get(&c->by_tgid, tgid), *t;
	struct process *p = i ? &c->processes.v[*i - 1] : NULL;

	if (!p || exec)
		return;
	t = map_get(&p->threads, tid);
	if (!t)
		return;
	snprintf(c->threads.v[*t - 1].name, sizeof(c->threads.v[0].name), "%s", comm);
	c->threads.v[*t - 1].labels = 0;
}

int collect_examine(struct collect *c, pid_t tgid)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_maps_ struct maps maps = {};
	const struct mapping *at;
	struct image_file *f;
	int r = proc_open(&proc, tgid);

	if (!r && c->config.may_see && !c->config.may_see(proc.dirfd))
		r = err_set(-EPERM, "process %d is another user's; `sudo krait record -p %d` shows it",
			    tgid, tgid);
	if (!r)
		r = maps_read(proc.dirfd, MAPS_EXEC, &maps);
	if (r)
		return r;
	f = find_image(c, &proc, &maps, &at);
	if (!f)
		return 0;
	if (f->image.unsupported[0])
		return err_set(-ENOTSUP, "process %d: %s can't be profiled", tgid,
			       f->image.unsupported);
	return 1;
}
