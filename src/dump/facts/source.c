/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads source lines of a process's program, with no more rights than the process has; see
 * source.h.
 */
#include "dump/facts/source.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/system/far.h"
#include "proc/files/files.h"
#include "proc/files/open_as.h"
#include "proc/read/stat.h"

#define SOURCE_BYTES  (8u << 20) /* the most bytes of a source file; longer files aren't shown */
#define SOURCE_FILES  4096
#define ENVIRON_BYTES (1u << 20)
/*
 * two clocks may differ by this much: that of processes' start times, and that of files' change
 * times
 */
#define CLOCK_STEPS (20 * NSEC_PER_MSEC)

/*
 * Returns the variable PWD of an environment, in which shells keep their working directory. NULL:
 * it isn't set.
 */
static const char *started_in(const struct str *environment)
{
	static const char name[] = "PWD=";
	const char *at = str_cstr(environment), *end = at + environment->n;

	for (; at < end; at += strlen(at) + 1)
		if (!strncmp(at, name, strlen(name)))
			return at + strlen(name);
	return NULL;
}

/*
 * Tells whether the process is still in the directory in which its shell started it. In another
 * directory, a relative file name may mean another file than at the program's start.
 */
static bool is_where_it_began(int procdir)
{
	_cleanup_str_ struct str environment = {}, place = {};
	char cwd[PATH_MAX] = "", root[PATH_MAX] = "";
	const char *began;

	if (readlinkat(procdir, "cwd", cwd, sizeof(cwd) - 1) <= 0 ||
	    readlinkat(procdir, "root", root, sizeof(root) - 1) <= 0 ||
	    proc_file_read(procdir, "environ", ENVIRON_BYTES, &environment))
		return false;
	began = started_in(&environment);
	if (!began)
		return false;
	str_addf(&place, "%s%s", streq(root, "/") ? "" : root, began);
	return streq(str_cstr(&place), cwd);
}

void source_init(struct source *s, const struct proc *proc, const struct dump_texts *texts)
{
	_cleanup_proc_facts_ struct proc_facts f = {};
	_cleanup_proc_ struct proc seen = {proc->tgid, fcntl(proc->dirfd, F_DUPFD_CLOEXEC, 0)};

	*s = (struct source){.proc = proc, .texts = texts, .root = -1, .cwd = -1};
	if (proc_facts_read(proc, NULL, &f) || proc_owner_read(proc->dirfd, &s->owner))
		return;
	s->start_ns =
		clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + f.start_boot_ns + CLOCK_STEPS;
	(void)proc_use_another_thread(&seen);
	s->root = openat(seen.dirfd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (is_where_it_began(seen.dirfd))
		s->cwd = openat(seen.dirfd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void free_file(struct source_file *f)
{
	free(f->path);
	free(f->text);
	vec_fini(&f->lines);
	free(f);
}

void source_fini(struct source *s)
{
	vec_foreach(f, &s->files)
		free_file(*f);
	vec_fini(&s->files);
	proc_owner_fini(&s->owner);
	if (s->root >= 0)
		close(s->root);
	if (s->cwd >= 0)
		close(s->cwd);
	s->root = s->cwd = -1;
}

/*
 * Opens a file with the rights of the process's user and groups. @path may be relative: up to
 * Python 3.8, a script's co_filename is the name that the user typed.
 */
static int open_as_owner(const struct source *s, const char *path)
{
	const struct opener u = opener_if_root(&s->owner);

	return file_open_as(&u, FILE_LINKS, *path == '/' ? s->root : s->cwd, path);
}

static bool is_source(const char *path)
{
	return str_ends(path, ".py") || str_ends(path, ".pyw") || str_ends(path, ".pyx");
}

static int split(struct source_file *f)
{
	int r = vec_push(&f->lines, 0);

	for (size_t i = 0; !r && i < f->n; i++)
		if (f->text[i] == '\n')
			r = vec_push(&f->lines, i + 1);
	return r;
}

static void drop_text(struct source_file *f)
{
	free(f->text);
	f->text = NULL;
}

static void read_file(const struct source *s, struct source_file *f)
{
	bool may = s->root >= 0 && is_source(f->path);
	_cleanup_close_ int fd = may ? open_as_owner(s, f->path) : -1;
	struct stat st;
	ssize_t got;

	if (fd < 0 || far_stat(fd, &st) || st.st_size > SOURCE_BYTES)
		return;
	f->text = malloc((size_t)st.st_size + 1);
	got = f->text ? far_pread(fd, f->text, (size_t)st.st_size, 0) : -1;
	f->n = got > 0 ? (size_t)got : 0;
	f->changed = timespec_ns(st.st_mtim) > s->start_ns;
	if (got < 0 || split(f))
		drop_text(f);
}

static void take_text(struct source_file *f, const struct str *text)
{
	f->text = malloc(text->n);
	if (!f->text)
		return;
	memcpy(f->text, text->s, text->n);
	f->n = text->n;
	if (split(f))
		drop_text(f);
}

static void find_text(const struct source *s, struct source_file *f)
{
	const struct str *text = dump_texts_find(s->texts, (uint32_t)s->proc->tgid, f->path);

	if (text)
		take_text(f, text);
	else
		read_file(s, f);
}

static struct source_file *file_of(struct source *s, const char *path)
{
	struct source_file *f;

	vec_foreach(known, &s->files)
		if (streq((*known)->path, path))
			return *known;
	f = s->files.n < SOURCE_FILES ? calloc(1, sizeof(*f)) : NULL;
	if (!f)
		return NULL;
	f->path = strdup(path);
	if (!f->path || vec_push(&s->files, f)) {
		free_file(f);
		return NULL;
	}
	find_text(s, f);
	return f;
}

const char *source_line(struct source *s, const char *path, int line, size_t *n, bool *changed)
{
	const struct source_file *f = s->proc ? file_of(s, path) : NULL;
	size_t from, to;

	if (!f || !f->text || line < 1 || (size_t)line > f->lines.n)
		return NULL;
	from = f->lines.v[line - 1];
	to = (size_t)line < f->lines.n ? f->lines.v[line] - 1 : f->n;
	if (to > from && f->text[to - 1] == '\r')
		to--;
	*n = to - from;
	*changed = f->changed;
	return f->text + from;
}
