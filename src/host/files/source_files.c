/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes which source files the recorded processes run code of; see source_files.h. */
#include "host/files/source_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/far.h"
#include "proc/proc.h"
#include "proc/read/stat.h"

enum {
	MAX_PATHS = 1 << 16, /* how many paths are noted at most: a program could name any number */
	MAX_MET = 1 << 20,
	/*
	 * two files with the same name are compared up to this many bytes; if they are longer,
	 * neither is shown
	 */
	MAX_COMPARED = 4 << 20,
	/* how many bytes of source text are kept that come from the memory of processes */
	MAX_TEXT = 8 << 20,
};

/* A source file that one process names. */
struct met {
	uint64_t start_boot_ns;
	uint32_t tgid, path;
};

static int identify(int dir, uint64_t *mount, uint64_t *ino)
{
	struct statx x;

	if (statx(dir, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &x))
		return -errno;
	*mount = x.stx_mnt_id;
	*ino = x.stx_ino;
	return 0;
}

int source_files_init(struct source_files *f, const struct source_rules *rules, bool command)
{
	struct rlimit limit = {.rlim_cur = 256};
	int r;

	getrlimit(RLIMIT_NOFILE, &limit);
	*f = (struct source_files){.rules = *rules, .command = command};
	f->max_kept = MIN(limit.rlim_cur / 4, (rlim_t)4096);
	intern_init(&f->paths, 0);
	intern_init(&f->met, sizeof(struct met));
	intern_init(&f->asked, sizeof(struct met));
	intern_init(&f->owners, 0);
	f->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = f->root < 0 ? -errno : identify(f->root, &f->mount, &f->ino);
	return r ? err_sys(r, "can't open the root directory") : 0;
}

void source_files_fini(struct source_files *f)
{
	vec_foreach(file, &f->files) {
		if (file->fd >= 0)
			close(file->fd);
		vec_fini(&file->owners);
		str_fini(&file->text);
	}
	vec_foreach(o, &f->owner_of)
		proc_owner_fini(o);
	vec_fini(&f->files);
	vec_fini(&f->owner_of);
	intern_fini(&f->paths);
	intern_fini(&f->met);
	intern_fini(&f->asked);
	intern_fini(&f->owners);
	if (f->root >= 0)
		close(f->root);
}

static int same_bytes(int a, int b)
{
	char x[1 << 13], y[sizeof(x)];
	ssize_t n, m;

	for (off_t at = 0; at < MAX_COMPARED; at += n) {
		n = far_pread(a, x, sizeof(x), at);
		m = far_pread(b, y, sizeof(y), at);
		if (n < 0 || n != m || memcmp(x, y, n))
			return -ESTALE;
		if (!n)
			return 0;
	}
	return -EFBIG;
}

static uint32_t owner_id(struct source_files *f, struct proc_owner *o)
{
	_cleanup_free_ uint32_t *key = calloc(o->groups.n + 2, sizeof(*key));
	uint32_t id;

	if (!key)
		return 0;
	key[0] = o->uid;
	key[1] = o->gid;
	for (size_t i = 0; i < o->groups.n; i++)
		key[2 + i] = o->groups.v[i];
	id = intern_put(&f->owners, key, (o->groups.n + 2) * sizeof(*key));
	if (id <= f->owner_of.n)
		return id;
	if (vec_push(&f->owner_of, *o))
		return 0;
	*o = (struct proc_owner){};
	return id;
}

static void add_owner(struct source_files *f, struct named_file *file, struct proc_owner *o)
{
	uint32_t id = owner_id(f, o);

	vec_foreach(known, &file->owners)
		if (*known == id)
			return;
	file->own = true;
	/* if there is no memory for the owner's id, the file's text won't be shown */
	file->several |= !id || vec_push(&file->owners, id);
}

/*
 * Opens the file, which is in a container. Two containers of the same image have two files with the
 * same contents, which count as one file.
 */
static void take_contained(struct source_files *f, struct named_file *file, int procdir,
			   const char *path, const struct proc_owner *o)
{
	_cleanup_close_ int root = source_root_of(&f->rules, procdir);
	_cleanup_close_ int fd = root < 0 ? root : source_open_below(&f->rules, root, path);

	file->foreign |= fd == -EPERM;
	if (fd < 0 || !source_owner_may(&f->rules, root, path, fd, o))
		return;
	if (file->fd >= 0) {
		file->several |= same_bytes(file->fd, fd) != 0;
	} else if (f->kept < f->max_kept) {
		file->fd = TAKE_FD(fd);
		f->kept++;
	}
}

static int64_t to_wall_ns(uint64_t boot_ns)
{
	uint64_t wall = clock_ns(CLOCK_REALTIME);

	return (int64_t)(wall - clock_ns(CLOCK_BOOTTIME) + boot_ns);
}

/*
 * Notes who owns the process that names the file. 0; -ESRCH: the process has ended, or its pid
 * belongs to another process now.
 */
static int look(struct source_files *f, struct named_file *file, const struct met *m,
		const char *path)
{
	_cleanup_(proc_owner_fini) struct proc_owner owner = {};
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_close_ int root = -1;
	uint64_t mount = 0, ino = 0;
	struct proc_stat stat;
	int r = m->start_boot_ns ? proc_open(&proc, m->tgid) : -ESRCH;

	if (!r)
		r = proc_stat_read(proc.dirfd, &stat);
	if (!r && proc_stat_start_ns(&stat) != m->start_boot_ns)
		r = -ESRCH;
	if (!r)
		r = proc_owner_read(proc.dirfd, &owner);
	if (!r)
		(void)proc_use_another_thread(&proc);
	root = r ? -1 : openat(proc.dirfd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || identify(root, &mount, &ino))
		return -ESRCH;
	file->since_ns = MIN(file->since_ns, to_wall_ns(m->start_boot_ns));
	if (mount == f->mount && ino == f->ino)
		add_owner(f, file, &owner);
	else
		take_contained(f, file, proc.dirfd, path, &owner);
	return 0;
}

/*
 * Returns the entry of file @path; makes it if it is missing. NULL: there is no memory, or there
 * are too many paths.
 */
static struct named_file *file_of(struct source_files *f, const char *path, uint32_t *id)
{
	*id = f->paths.n < MAX_PATHS ? intern_put(&f->paths, path, strlen(path)) : 0;
	if (!*id)
		return NULL;
	if (*id > f->files.n &&
	    vec_push(&f->files, (struct named_file){.fd = -1, .since_ns = INT64_MAX}))
		return NULL;
	return &f->files.v[*id - 1];
}

void source_files_met(struct source_files *f, uint32_t tgid, uint64_t start_boot_ns,
		      const char *path)
{
	struct met m = {.start_boot_ns = start_boot_ns, .tgid = tgid};
	uint32_t known = f->met.n;
	struct named_file *file;

	if (!source_named(path) || known >= MAX_MET)
		return;
	file = file_of(f, path, &m.path);
	if (!file || (intern_put(&f->met, &m, sizeof(m)) && f->met.n == known))
		return;
	file->gone |= look(f, file, &m, path) != 0;
}

/*
 * Tells whether the caller may see the memory of process @m->tgid. Users may see the memory of
 * their own processes; root may see the memory of all processes if its mode is SOURCE_ALL. 0: yes;
 * -EPERM: no; -ESRCH: the process is gone.
 */
static int may_see_memory(const struct source_rules *r, const struct met *m)
{
	_cleanup_(proc_owner_fini) struct proc_owner owner = {};
	_cleanup_proc_ struct proc proc = PROC_INIT;
	struct proc_stat stat;
	int e = proc_open(&proc, m->tgid);

	e = e ? e : proc_stat_read(proc.dirfd, &stat);
	if (!e && proc_stat_start_ns(&stat) != m->start_boot_ns)
		e = -ESRCH;
	e = e ? e : proc_owner_read(proc.dirfd, &owner);
	if (e)
		return -ESRCH;
	return source_memory_shown(r, &owner) ? 0 : -EPERM;
}

bool source_files_wants_text(void *files, uint32_t tgid, uint64_t start_boot_ns, const char *name,
			     const char *path)
{
	struct source_files *f = files;
	struct met m = {.start_boot_ns = start_boot_ns, .tgid = tgid};
	bool named = file_of(f, name, &m.path);
	uint32_t id, known = f->asked.n;
	struct named_file *file = file_of(f, path, &id);
	int r = named && known < MAX_MET && f->text_bytes < MAX_TEXT ? 0 : -E2BIG;

	if (!file || f->rules.mode == SOURCE_NONE)
		return false;
	if (!r && !intern_put(&f->asked, &m, sizeof(m)))
		r = -ENOMEM;
	if (!r && f->asked.n == known)
		return false;
	r = r ? r : may_see_memory(&f->rules, &m);
	file->foreign |= r == -EPERM;
	file->textless |= r != 0;
	return !r;
}

void source_files_met_text(void *files, uint32_t tgid, const char *path, const struct str *text)
{
	struct source_files *f = files;
	uint32_t id;
	struct named_file *file = file_of(f, path, &id);

	if (!file)
		return;
	file->textless |= !text->n;
	if (!text->n)
		return;
	if (file->text.n) { /* the file already has a text, from another process */
		file->several |=
			file->text.n != text->n || memcmp(file->text.s, text->s, text->n) != 0;
		return;
	}
	str_add_n(&file->text, text->s, text->n);
	f->text_bytes += text->n;
}

/* Opens a file in memory that contains the text, so that it can be read like any other file. */
static int open_text(const struct str *text, int64_t *since_ns)
{
	_cleanup_close_ int fd = memfd_create("source", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (pwrite(fd, text->s, text->n, 0) != (ssize_t)text->n)
		return -EIO;
	/* the code was compiled from this very text, so the text counts as unchanged at any time */
	*since_ns = INT64_MAX / 2;
	return TAKE_FD(fd);
}

/*
 * Opens the file below krait's own root directory, if all owners of processes that named it can
 * read it.
 */
static int open_own(const struct source_files *f, const struct named_file *file, const char *path)
{
	_cleanup_close_ int fd = source_open_below(&f->rules, f->root, path);
	bool may = true;

	if (fd < 0)
		return fd;
	vec_foreach(id, &file->owners)
		may = may &&
		      source_owner_may(&f->rules, f->root, path, fd, &f->owner_of.v[*id - 1]);
	return may ? TAKE_FD(fd) : -EACCES;
}

int source_files_open(void *files, const char *path, int64_t *since_ns)
{
	struct source_files *f = files;
	uint32_t id;
	struct named_file *file = file_of(f, path, &id);
	_cleanup_close_ int fd = -1;

	if (!file || f->rules.mode == SOURCE_NONE)
		return -EACCES;
	if (file->several)
		return -ESTALE;
	if (file->text.n && !file->text.failed && !file->textless)
		return open_text(&file->text, since_ns);
	*since_ns = MIN(*since_ns, file->since_ns);
	if (file->fd >= 0)
		fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	else if (file->own || (file->gone && f->command))
		return open_own(f, file, path);
	if (fd < 0)
		return file->foreign ? -EPERM : -EACCES;
	if (file->own) {
		_cleanup_close_ int own = open_own(f, file, path);

		if (own < 0 || same_bytes(own, fd))
			return -ESTALE;
	}
	return TAKE_FD(fd);
}
