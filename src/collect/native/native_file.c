/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files with native code. A file is opened as soon as a process maps it, because the process may be
 * gone when the file is needed. The file's unwind rows are compiled, and its names are read, when a
 * stack needs them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/far.h"
#include "base/system/log.h"
#include "base/nomem.h"
#include "collect/budget/look.h"
#include "collect/native/native.h"
#include "elf/dwarf_file.h"
#include "proc/files/files.h"
#include "symbol/elf/elf_names.h"
#include "symbol/elf/function_parts.h"
#include "symbol/pytables/method_names.h"

#define VDSO_PATH      "[vdso]"
#define VDSO_MAX_BYTES (64u << 10)
/* the most work for finding a build id; notes usually have some hundred bytes */
#define NOTES_WORK (2 * SLICE_MS)
#define AGAIN_NS   (2 * NSEC_PER_SEC)

/*
 * Is @m the vDSO? It is no file. All 64-bit processes have the same vDSO. 32-bit processes have
 * another one, below 4 GiB.
 */
static bool is_vdso(const struct mapping *m, const char *path)
{
	return streq(path, VDSO_PATH) && m->start > UINT32_MAX;
}

/* Returns a descriptor of a copy of the vDSO; -errno + message. */
static int open_vdso(void)
{
	uintptr_t at = getauxval(AT_SYSINFO_EHDR);
	_cleanup_proc_ struct proc self = PROC_INIT;
	_cleanup_maps_ struct maps maps = {};
	_cleanup_close_ int fd = -1;
	const struct mapping *m;

	if (!at || proc_open(&self, getpid()) || maps_read(self.dirfd, MAPS_EXEC, &maps))
		return err_set(-ENOENT, "krait's own vDSO can't be found");
	m = maps_find(&maps, at);
	if (!m || m->end - at > VDSO_MAX_BYTES)
		return err_set(-ENOENT, "krait's own vDSO isn't in its mappings");
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0 || write(fd, (const void *)at, m->end - at) != (ssize_t)(m->end - at))
		return err_sys(-errno, "the vDSO can't be copied");
	return TAKE_FD(fd);
}

bool native_file_changed(const struct native_file *f)
{
	struct file_version now;
	struct stat st;

	if (far_stat(f->fd, &st))
		return true;
	now = file_version_of(&st);
	return now.mtime_ns != f->version.mtime_ns || now.bytes != f->version.bytes;
}

void native_file_free(struct native_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	elf_names_free(f->names);
	dwarf_file_free(f->lines);
	method_names_free(f->methods);
	function_parts_free(f->parts);
	vec_fini(&f->loads);
	vec_fini(&f->fdes);
	free(f->path);
	free(f);
}

static uint32_t file_mapping(struct collect *c, struct elf_file *elf, const struct native_file *f)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1] = "";
	const struct elf_load *last = &f->loads.v[f->loads.n - 1];
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = elf_file_build_id(elf, id);

	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	return profile_mapping(c->profile, &(struct profile_mapping){
						   .name = profile_string(c->profile, f->path),
						   .build_id = profile_string(c->profile, hex),
						   .kind = KIND_NATIVE,
						   .start = f->base,
						   .limit = last->vaddr + last->memsz,
						   .offset = f->loads.v[0].offset,
					   });
}

/* Finds out by the file's functions whether it holds CPython, and whether it is the C library. */
static void find_functions(struct elf_file *elf, struct native_file *f)
{
	static const char *const names[] = {"PyEval_EvalCode", "__libc_start_main", "exit"};
	struct elf_symbol sym[ARRAY_SIZE(names)] = {};

	if (!elf_file_find_in(elf, true, names, sym, ARRAY_SIZE(names)) && elf_file_is_program(elf))
		elf_file_find_in(elf, false, names + 1, sym + 1, ARRAY_SIZE(names) - 1);
	f->interpreter = sym[0].value;
	f->exit = sym[1].value ? sym[2].value : 0;
}

/* Reads only the headers of a file: segments and build id. */
static int read_headers(struct collect *c, struct native_file *f)
{
	_cleanup_elf_ struct elf_file *elf = NULL;
	const struct elf_load *loads;
	struct slice slice;
	size_t n;
	int r = elf_file_open(f->fd, f->path, &elf);

	if (r)
		return r;
	n = elf_file_loads(elf, &loads);
	for (size_t i = 0; !r && i < n; i++)
		if (loads[i].exec)
			r = vec_push(&f->loads, loads[i]);
	if (!f->loads.n)
		return r ? r : err_set(-ENOEXEC, "%s has no code", f->path);
	f->base = f->loads.v[0].vaddr & ~4095ull;
	slice_begin(&slice, NOTES_WORK);
	f->mapping = file_mapping(c, elf, f);
	slice_end(&slice);
	return r;
}

/*
 * Looks through the file's functions, and charges the budget of the process that maps the file. If
 * that budget is spent, the file is looked through later, when a process with time left in its
 * budget maps it.
 */
static void look_for_functions(struct collect *c, const struct proc *proc, struct native_file *f)
{
	_cleanup_elf_ struct elf_file *elf = NULL;
	bool known = f->interpreter;
	struct look look;

	if (f->looked || f->fd < 0 || !f->loads.n || look_begin(c, proc, &look))
		return;
	if (!elf_file_open(f->fd, f->path, &elf))
		find_functions(elf, f);
	f->looked = !look_end(c, &look, f->path) || look.whole;
	if (known || !f->interpreter)
		return;
	known_natives_forget(c);
	if (f->rows == ROWS_THERE && !f->proving)
		native_rows_again(c, f);
}

uint32_t native_file_met(const struct collect *c, const struct mapping *m, const char *path)
{
	const uint64_t *i = map_get(&c->natives->index, file_key(m->dev, m->ino));
	const struct native_file *f = i ? native_file_at(c, (uint32_t)*i) : NULL;

	return f && f->dev == m->dev && f->ino == m->ino && f->loads.n && streq(f->path, path)
		       ? f->index
		       : 0;
}

static bool no_more_files(const struct collect *c)
{
	return c->config.max_files && c->natives->open >= c->config.max_files;
}

static int open_file(struct collect *c, const struct proc *proc, const struct mapping *m,
		     const char *path, struct native_file *f)
{
	struct stat st;

	f->path = strdup(path);
	if (!f->path)
		return err_nomem();
	/*
	 * The device, inode and times are also kept of a file that can't be opened, such as a
	 * device node, so that krait doesn't try to open it again.
	 */
	if (!file_stat_mapping(proc, m, &st))
		f->version = file_version_of(&st);
	f->fd = m->ino ? file_open_mapping(proc->dirfd, m, path, NULL) : open_vdso();
	if (f->fd < 0)
		return f->fd;
	if (far_stat(f->fd, &st))
		return err_sys(-errno, "the status of the file can't be read");
	if (no_more_files(c))
		return err_set(-EMFILE,
			       "krait has %zu files open and may open no more; raise the limit "
			       "with `ulimit -n`",
			       c->natives->open);
	f->version = file_version_of(&st);
	f->root = root_of(&c->natives->roots, proc);
	return read_headers(c, f);
}

static struct native_file *new_file(struct collect *c, const struct mapping *m)
{
	struct native_file *f = calloc(1, sizeof(*f));

	if (f)
		*f = (struct native_file){.dev = m->dev, .ino = m->ino, .fd = -1, .root = -1};
	else
		c->no_memory = true;
	return f;
}

/* Adds @f to the files, whether or not it could be opened. NULL: out of memory. */
static struct native_file *keep_file(struct collect *c, struct native_file *f)
{
	/*
	 * A file without code isn't kept open, because programs may make new shared memory files
	 * all the time.
	 */
	if (!f->loads.n && f->fd >= 0) {
		close(f->fd);
		f->fd = -1;
	}
	c->natives->open += f->fd >= 0;
	if (f->loads.n && c->config.unwind->new_table(c->config.ctx, &f->table))
		f->table = 0;
	if (vec_push(&c->natives->files, f)) {
		c->no_memory = true;
		native_file_free(f);
		return NULL;
	}
	(void)!map_put(&c->natives->index, file_key(f->dev, f->ino), c->natives->files.n);
	f->index = c->natives->files.n;
	return f;
}

/*
 * Did the file system not answer, or did krait not ask it at all? In both cases nothing is known
 * about the file.
 */
static bool is_unanswered(int r)
{
	return r == -ETIMEDOUT || r == -EAGAIN || r == -EPIPE;
}

/*
 * Opens a file and adds it. A file that can't be used is also added, without segments, so that it
 * isn't opened again and again.
 */
static struct native_file *meet_file(struct collect *c, const struct proc *proc,
				     const struct mapping *m, const char *path)
{
	struct native_file *f = new_file(c, m);
	int r = f ? open_file(c, proc, m, path, f) : -ENOMEM;

	if (f && r)
		log_info("%s: no native frames: %s", path, err_about(err_msg(), path));
	if (f && is_unanswered(r))
		f->again_ns = clock_ns(CLOCK_MONOTONIC) + AGAIN_NS;
	return f ? keep_file(c, f) : NULL;
}

static struct native_file *find_known(const struct collect *c, const struct proc *proc,
				      const struct mapping *m)
{
	const uint64_t *i = map_get(&c->natives->index, file_key(m->dev, m->ino));
	struct native_file *latest = i ? c->natives->files.v[*i - 1] : NULL;

	/* A mapping without inode belongs to the vDSO, which is no file. */
	if (!latest || !m->ino || file_unchanged(latest->fd, proc, m, &latest->version))
		return latest;
	vec_foreach(f, &c->natives->files)
		if ((*f)->dev == m->dev && (*f)->ino == m->ino &&
		    file_unchanged((*f)->fd, proc, m, &(*f)->version))
			return *f;
	return NULL;
}

/*
 * Returns the file behind @m if it is known. NULL also for a file whose file system didn't answer a
 * while ago: such a file is opened again, because all processes may map it.
 */
static struct native_file *find_answered(const struct collect *c, const struct proc *proc,
					 const struct mapping *m)
{
	struct native_file *f = find_known(c, proc, m);

	if (!f || !f->again_ns || clock_ns(CLOCK_MONOTONIC) < f->again_ns)
		return f;
	/* an empty version, which no file has: nobody finds this entry again */
	f->version = (struct file_version){};
	return NULL;
}

struct native_file *native_file_of(struct collect *c, const struct proc *proc,
				   const struct mapping *m, const char *path, uint32_t *index)
{
	struct native_file *f;

	*index = 0;
	if (!m->ino && !is_vdso(m, path))
		return NULL;
	f = find_answered(c, proc, m) ?: meet_file(c, proc, m, path);
	*index = f ? f->index : 0;
	if (f)
		look_for_functions(c, proc, f);
	if (!f || !f->loads.n)
		return NULL;
	f->met = true;
	return f;
}

struct native_file *native_file_foresee(struct collect *c, const struct mapping *m, int fd,
					const char *path)
{
	struct native_file *f;
	struct stat st;

	if (map_get(&c->natives->index, file_key(m->dev, m->ino)) || no_more_files(c))
		return NULL;
	f = new_file(c, m);
	if (!f)
		return NULL;
	f->path = strdup(path);
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (!f->path || f->fd < 0 || fstat(f->fd, &st) || read_headers(c, f)) {
		native_file_free(f);
		return NULL;
	}
	f->version = file_version_of(&st);
	f->mapped = 1;
	look_for_functions(c, NULL, f);
	return keep_file(c, f);
}

bool native_file_is_settled(const struct native_file *f)
{
	const struct mapping m = {.dev = f->dev, .ino = f->ino};

	return f->looked && !f->again_ns &&
	       (!f->ino || file_held_unchanged(f->fd, &m, &f->version));
}

bool native_file_vaddr(const struct native_file *f, uint64_t offset, uint64_t *vaddr)
{
	vec_foreach(l, &f->loads) {
		uint64_t start = l->offset & ~4095ull;

		if (offset < start || offset >= l->offset + l->filesz)
			continue;
		*vaddr = (l->vaddr & ~4095ull) + (offset - start);
		return true;
	}
	return false;
}
