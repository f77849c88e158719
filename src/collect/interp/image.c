/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF files of processes. Each file is looked into once, so the hundredth process of a program
 * costs only a look at its mappings, and a new process of a known executable not even that.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/far.h"
#include "base/system/log.h"
#include "collect/budget/look.h"
#include "collect/interp/image.h"
#include "collect/process/root.h"
#include "proc/files/files.h"

#define MAX_HELD 128

uint64_t file_key(uint64_t dev, uint64_t ino)
{
	return dev * 0x9e3779b97f4a7c15ull ^ ino;
}

struct file_version file_version_of(const struct stat *st)
{
	return (struct file_version){.dev = st->st_dev,
				     .ino = st->st_ino,
				     .mtime_ns = (int64_t)timespec_ns(st->st_mtim),
				     .bytes = st->st_size};
}

/*
 * Is @fd the file that mapping @m shows? While @fd is open, no other file gets its inode number. On
 * some file systems (overlayfs, btrfs) mappings show other numbers, which several files may share;
 * for such files the answer is no.
 */
static bool is_held(int fd, const struct mapping *m, struct stat *st)
{
	return fd >= 0 && !fstat(fd, st) && st->st_ino == m->ino && file_dev(st->st_dev) == m->dev;
}

static bool is_version(const struct stat *st, const struct file_version *was)
{
	struct file_version now = file_version_of(st);

	return !memcmp(&now, was, sizeof(now));
}

bool file_held_unchanged(int fd, const struct mapping *m, const struct file_version *was)
{
	struct stat st;

	return is_held(fd, m, &st) && is_version(&st, was);
}

int file_stat_mapping(const struct proc *proc, const struct mapping *m, struct stat *ret)
{
	_cleanup_close_ int fd = file_walk_mapping(proc->dirfd, m, ret);

	return MIN(fd, 0);
}

bool file_unchanged(int fd, const struct proc *proc, const struct mapping *m,
		    const struct file_version *was)
{
	struct stat st;
	int r = is_held(fd, m, &st) ? 0 : file_stat_mapping(proc, m, &st);

	/*
	 * If the process is gone, the file counts as unchanged. If the file's file system doesn't
	 * answer, the file counts as changed, because @m may show another file by now.
	 */
	return r ? r != -ETIMEDOUT : is_version(&st, was);
}

static int read_file(int fd, const char *path, struct image_file *f)
{
	_cleanup_elf_ struct elf_file *elf = NULL;
	const struct elf_load *text;
	struct stat st;
	int r;

	if (far_stat(fd, &st))
		return err_sys(-errno, "the status of the file can't be read");
	f->version = file_version_of(&st);
	if (!elf_file_open(fd, path, &elf)) {
		elf_file_dynamic(elf, &f->dynamic);
		f->exec_fixed = elf_file_is_exec(elf);
		text = elf_file_text(elf);
		if (text) {
			f->text_start = text->vaddr;
			f->text_offset = text->offset;
		}
	}
	r = py_image_read(fd, path, &f->image);
	f->is_python = r > 0;
	return r;
}

static void image_file_free(struct image_file *f)
{
	if (f && f->fd >= 0)
		close(f->fd);
	free(f);
}

bool images_init(struct collect *c)
{
	return (c->images = calloc(1, sizeof(*c->images)));
}

void images_fini(struct collect *c)
{
	if (!c->images)
		return;
	vec_foreach(file, &c->images->files)
		image_file_free(*file);
	vec_fini(&c->images->files);
	map_fini(&c->images->index);
	map_fini(&c->images->others);
	free(TAKE_PTR(c->images));
}

/*
 * Keeps the file open, unless that could keep somebody from unmounting a file system. Most machines
 * start the same few programs again and again, and each time krait has to know whether the
 * program's file is unchanged. With an open file fstat() tells that at once. Reading /proc instead
 * was most of the cost of watching such a machine.
 */
static int hold(struct collect *c, int fd)
{
	int own;

	if (c->images->held >= MAX_HELD || far_is(fd) || !root_has(fd))
		return -1;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	c->images->held += own >= 0;
	return own;
}

/*
 * Returns the entry that was made for this file before its contents changed; NULL: there is no such
 * entry. @version: the file's present version.
 */
static struct image_file *find_rewritten(const struct collect *c, uint64_t dev, uint64_t ino,
					 const struct file_version *version)
{
	vec_foreach(f, &c->images->files)
		if ((*f)->dev == dev && (*f)->ino == ino && (*f)->version.dev == version->dev &&
		    (*f)->version.ino == version->ino)
			return *f;
	return NULL;
}

/*
 * Reads file @fd within its budget. If other files have cost too much, only a part of this file may
 * be read. In that case the result isn't kept, and the file is read again for the next process that
 * maps it.
 */
static int look_into(struct collect *c, const struct proc *proc, int fd, const char *path,
		     struct image_file *ret)
{
	struct look look;
	int r = look_begin(c, proc, &look);

	if (r)
		return r;
	if (read_file(fd, path, ret) < 0)
		log_info("%s: %s", path, err_about(err_msg(), path));
	if (look_end(c, &look, path) && !look.whole && !ret->is_python)
		return err_set(-EBUSY, "%s takes too long to look into", path);
	return 0;
}

/*
 * Reads file @fd, which mappings of @proc (NULL: of no process) show as @dev and @ino, and keeps
 * what is found in it. NULL: the file can't be looked into now, or memory is lacking.
 */
static struct image_file *keep_file(struct collect *c, const struct proc *proc, uint64_t dev,
				    uint64_t ino, int fd, const char *path)
{
	struct image_file f = {.dev = dev, .ino = ino}, *old;

	if (look_into(c, proc, fd, path, &f))
		return NULL;
	old = find_rewritten(c, dev, ino, &f.version);
	f.fd = old ? old->fd : -1;
	if (old) {
		*old = f;
		return old;
	}
	old = malloc(sizeof(*old));
	if (old)
		*old = f;
	if (!old || vec_push(&c->images->files, old)) {
		free(old);
		(void)err_set(-ENOMEM, "out of memory for %s", path);
		return NULL;
	}
	old->fd = hold(c, fd);
	(void)!map_put(&c->images->index, file_key(dev, ino), c->images->files.n);
	return old;
}

static struct image_file *find_known(const struct collect *c, const struct proc *proc,
				     const struct mapping *m)
{
	const uint64_t *i = map_get(&c->images->index, file_key(m->dev, m->ino));
	struct image_file *latest = i ? c->images->files.v[*i - 1] : NULL;

	if (!latest || file_unchanged(latest->fd, proc, m, &latest->version))
		return latest;
	vec_foreach(f, &c->images->files)
		if ((*f)->dev == m->dev && (*f)->ino == m->ino &&
		    file_unchanged((*f)->fd, proc, m, &(*f)->version))
			return *f;
	return NULL;
}

int image_of(struct collect *c, const struct proc *proc, const struct mapping *m, const char *path,
	     struct image_file **ret)
{
	_cleanup_close_ int fd = -1;

	*ret = find_known(c, proc, m);
	if (*ret)
		return 0;
	fd = file_open_mapping(proc->dirfd, m, path, NULL);
	if (fd < 0)
		return fd;
	*ret = keep_file(c, proc, m->dev, m->ino, fd, path);
	return *ret ? 0 : -EBUSY;
}

/* how long a file without an interpreter counts as unchanged after it was last compared */
#define SAME_NS NSEC_PER_SEC

/*
 * perf reports each file that any process maps, and nearly all these files hold no interpreter. So
 * krait checks only now and then whether such a file was written to.
 */
const struct image_file *image_known(const struct collect *c, const struct mapping *m)
{
	const uint64_t *i = map_get(&c->images->index, file_key(m->dev, m->ino));
	struct image_file *f = i ? c->images->files.v[*i - 1] : NULL;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct stat st;

	if (!f || f->dev != m->dev || f->ino != m->ino)
		return NULL;
	if ((!f->is_python || f->is_known_program) && f->checked_ns &&
	    now - f->checked_ns < SAME_NS)
		return f;
	if (!is_held(f->fd, m, &st) || !is_version(&st, &f->version))
		return NULL;
	f->checked_ns = now;
	return f;
}

int image_key(int fd, struct exe_key *ret)
{
	struct stat st;
	int generation;

	if (far_is(fd))
		return -ENOTTY;
	if (fstat(fd, &st) || ioctl(fd, FS_IOC_GETVERSION, &generation))
		return -errno;
	*ret = (struct exe_key){.dev = file_dev(st.st_dev),
				.ino = st.st_ino,
				.generation = (uint32_t)generation,
				.bytes = st.st_size,
				.mtime_ns = (int64_t)timespec_ns(st.st_mtim)};
	return 0;
}

struct image_file *image_of_fd(struct collect *c, int fd, const char *path, struct exe_key *key)
{
	/*
	 * Some file systems, such as tmpfs, don't give the key. On these, the key comes with the
	 * first sample of a process.
	 */
	if (image_key(fd, key))
		return NULL;
	if (map_get(&c->images->index, file_key(key->dev, key->ino)))
		/* the kernel programs already know what the file holds */
		return NULL;
	return keep_file(c, NULL, key->dev, key->ino, fd, path);
}

bool image_named_python(const char *path)
{
	const char *base = path_base(path);

	return strstr(base, "python") || strstr(base, "pypy");
}

bool image_runs_once(const char *exe)
{
	const char *p = path_base(exe);

	if (!str_starts(p, "python"))
		return false;
	p += strlen("python");
	p += strspn(p, "0123456789.");
	p += strspn(p, "td");
	p += str_starts(p, "-dbg") ? strlen("-dbg") : 0;
	return !*p || streq(p, " (deleted)");
}

/*
 * Returns what is known of the process's executable; NULL: nothing. @exe has the executable's
 * device and inode. On some file systems (overlayfs, btrfs) mappings show another device; there the
 * executable's mapping is found by its name.
 */
static struct image_file *exe_file(struct collect *c, const struct proc *proc,
				   const struct maps *maps, const struct exe_key *exe,
				   bool *called_python)
{
	struct image_file *f;

	vec_foreach(m, &maps->list) {
		const char *path = maps_path(maps, m);

		if (m->ino != exe->ino || !(m->prot & PROT_EXEC) ||
		    (m->dev != exe->dev && !file_is_exe(proc->dirfd, path, m->deleted)))
			continue;
		*called_python = image_named_python(path);
		return image_of(c, proc, m, path, &f) ? NULL : f;
	}
	return NULL;
}

bool image_may_come(struct collect *c, const struct proc *proc, const struct maps *maps,
		    const struct exe_key *exe)
{
	bool called_python = false;
	const struct image_file *f = exe ? exe_file(c, proc, maps, exe, &called_python) : NULL;

	return !f || called_python || f->dynamic.needs_python;
}

void image_teach(struct collect *c, const struct proc *proc, const struct maps *maps,
		 const struct exe_key *exe, const struct image_file *f,
		 const struct py_where *where)
{
	bool called_python;
	struct image_file *x = exe ? exe_file(c, proc, maps, exe, &called_python) : NULL;
	struct exe_entry e = {.kind = EXE_OTHER};

	if (!x)
		return;
	e.start_vaddr = x->text_start;
	if (f)
		e.where = *where;
	if (f == x) {
		x->is_known_program = true;
		e.kind = EXE_PYTHON;
	} else if (f) {
		e.kind = x->dynamic.needs_python ? EXE_LINKED : EXE_HOST;
		e.debug_slot = x->dynamic.debug_slot;
		e.lib_dynamic = f->dynamic.vaddr;
		e.lib_check = f->dynamic.check;
		if (!e.debug_slot || !e.lib_dynamic)
			/*
			 * without .debug_slot and .lib_dynamic, krait learns only from perf's
			 * record of the mapped library that the process is Python
			 */
			return;
	}
	(void)!c->config.ops->add_exe(c->config.ctx, exe, &e);
}
