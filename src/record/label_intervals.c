/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the file of intervals with the rights of the user who called krait, and warns of faults in
 * it; see label_intervals.h.
 */
#include "record/label_intervals.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/far.h"
#include "base/system/log.h"
#include "base/nomem.h"
#include "base/text/str.h"
#include "proc/files/files.h"
#include "proc/files/open_as.h"
#include "profile/intervals/intervals.h"

/* Adds a warning to the recording and to .interval_warnings, which the caller prints. */
static void _printf_(2, 3) warn(struct session *s, const char *fmt, ...)
{
	char *text;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	profile_add_comment(s->profile, COMMENTS_WARNING, text);
	if (vec_push(&s->interval_warnings, text))
		free(text);
}

/*
 * Returns the opener with the rights of the user who called krait. krait's executable may have the
 * right to read all files, which isn't used for this file.
 */
static struct opener opener(const struct caller *c)
{
	return c->other ? caller_opener(c) : (struct opener){.as_is = !geteuid()};
}

/* Makes @path absolute, because file_open_as() takes no relative path. */
static int full_path(const char *path, struct str *ret)
{
	_cleanup_free_ char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);

	if (*path != '/' && !cwd)
		return -errno;
	str_addf(ret, "%s%s%s", cwd ?: "", cwd ? "/" : "", path);
	return ret->failed ? -ENOMEM : 0;
}

/*
 * Opens the file only if it is a regular one, because other files may have no end. If krait runs as
 * root it follows no symbolic link, because the target could make a link to a file that only root
 * may read.
 */
static int open_file(const struct session *s)
{
	struct opener u = opener(&s->caller);
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_str_ struct str path = {};
	int fd = root < 0 ? -errno : full_path(s->options->label_intervals, &path);

	if (!fd)
		fd = file_open_as(&u, u.as_is ? FILE_NO_LINK : FILE_LINKS, root, str_cstr(&path));
	if (fd == -EINVAL)
		return err_set(fd, "isn't a regular file");
	if (fd == -ETIMEDOUT)
		return err_set(fd, "its file system doesn't answer");
	return fd < 0 ? err_sys(fd, "can't be read") : fd;
}

/* Reads a file, at most one byte more than the limit. */
static int read_file(int fd, struct str *text)
{
	static char buf[1 << 16];
	ssize_t n = 1;

	while (n > 0 && text->n <= INTERVALS_MAX_BYTES) {
		n = far_pread(fd, buf, MIN(sizeof(buf), INTERVALS_MAX_BYTES + 1 - text->n),
			      (off_t)text->n);
		if (n > 0)
			str_add_n(text, buf, (size_t)n);
		if (text->failed)
			return err_nomem();
	}
	if (n < 0 && errno == ETIMEDOUT)
		return err_set(-ETIMEDOUT, "its file system doesn't answer");
	return n < 0 ? err_sys(-errno, "can't be read") : 0;
}

void label_intervals_forked(struct session *s, const struct interval_fork *fork)
{
	if (s->options->label_intervals && s->forks.n <= INTERVALS_MAX_FORKS)
		(void)!vec_push(&s->forks, *fork);
}

static int compare_forks(const void *a, const void *b)
{
	const struct interval_fork *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void sort_forks(struct session *s)
{
	if (s->forks.n)
		qsort(s->forks.v, s->forks.n, sizeof(*s->forks.v), compare_forks);
	if (s->forks.n <= INTERVALS_MAX_FORKS)
		return;
	s->forks.n = INTERVALS_MAX_FORKS;
	warn(s,
	     "more than %d processes were started; those started later get labels only from "
	     "intervals with their own pid",
	     INTERVALS_MAX_FORKS);
}

/*
 * Adds to @pids the processes with samples, and the processes from which these may inherit labels.
 */
static int add_pids(const struct session *s, struct map *pids)
{
	const struct profile *p = s->profile;

	for (uint32_t id = 1; id <= profile_n_labels(p); id++) {
		uint64_t pid = strtoul(profile_label_text(p, id, "pid"), NULL, 10);

		if (pid && map_put(pids, pid, 0))
			return err_nomem();
	}
	for (size_t i = s->forks.n; i-- > 0;) {
		const struct interval_fork *f = &s->forks.v[i];

		if (map_get(pids, f->pid) && map_put(pids, f->parent, 0))
			return err_nomem();
	}
	return 0;
}

#define UNKNOWN INT64_MIN

void label_intervals_met(struct session *s, const struct profile_sample *sample)
{
	int64_t shift_ns;
	uint64_t pid;

	if (!s->options->label_intervals)
		return;
	pid = strtoul(profile_label_text(s->profile, sample->labels, "pid"), NULL, 10);
	if (!pid || map_get(&s->clocks, pid))
		return;
	if (clock_shift_of((pid_t)pid, &shift_ns))
		shift_ns = UNKNOWN;
	(void)!map_put(&s->clocks, pid, (uint64_t)shift_ns);
}

struct clocks {
	const struct session *session;
	bool unknown; /* true: for some process it isn't known by how much its clock is shifted */
};

/*
 * Sets *ret_ns to the shift that the clocks of all processes have. If no process's shift is known,
 * it is the shift of krait's own clock. Returns false if the processes' shifts differ.
 */
static bool common_shift(const struct session *s, int64_t *ret_ns)
{
	bool any = false;

	map_foreach(slot, &s->clocks) {
		int64_t shift_ns = (int64_t)slot->value;

		if (shift_ns == UNKNOWN)
			continue;
		if (any && shift_ns != *ret_ns)
			return false;
		*ret_ns = shift_ns;
		any = true;
	}
	return any || !clock_shift_of(getpid(), ret_ns);
}

/*
 * The function for intervals_clock.shift. If a process ended before its clock could be read, it is
 * assumed to have the shift of the other processes.
 */
static bool shift_of(void *arg, uint32_t pid, int64_t *ret_ns)
{
	struct clocks *c = arg;
	const uint64_t *known = map_get(&c->session->clocks, pid);

	if (known && (int64_t)*known != UNKNOWN) {
		*ret_ns = (int64_t)*known;
		return true;
	}
	if (common_shift(c->session, ret_ns))
		return true;
	c->unknown = true;
	return false;
}

static int apply(struct session *s, struct intervals *v, uint64_t *labelled)
{
	struct clocks clocks = {.session = s};
	const struct intervals_clock clock = {s->start_ns, shift_of, &clocks};
	int r = intervals_apply(v, s->profile, &clock, &s->forks, labelled);

	if (!r && v->list.n && clocks.unknown)
		warn(s, "some processes ended before their time namespace was known; their samples "
			"have no labels from the file");
	return r;
}

static void say_what_is_wrong(struct session *s, const struct intervals *v, bool cut)
{
	if (cut)
		warn(s, "only the first %zu MiB of the file were read", INTERVALS_MAX_BYTES >> 20);
	if (v->bad_lines)
		warn(s, "%llu of %llu lines aren't intervals and were passed over; the first is %s",
		     (unsigned long long)v->bad_lines, (unsigned long long)v->lines, v->first_bad);
	if (v->left_out)
		warn(s, "only the first %d labels of the file count; %llu more were left out",
		     INTERVALS_MAX_LABELS, (unsigned long long)v->left_out);
	if (v->values.n > INTERVALS_MAX_VALUES)
		warn(s, "more than %d different values; the rest are " INTERVALS_OTHER,
		     INTERVALS_MAX_VALUES);
}

static int add(struct session *s, struct str *text, struct intervals *v)
{
	_cleanup_close_ int fd = open_file(s);
	_cleanup_(map_fini) struct map pids = {};
	bool cut;
	uint64_t labelled;
	int r = fd < 0 ? fd : read_file(fd, text);

	if (r)
		return r;
	cut = text->n > INTERVALS_MAX_BYTES;
	map_init(&pids);
	sort_forks(s);
	r = add_pids(s, &pids);
	r = r ? r : intervals_read(v, str_cstr(text), MIN(text->n, INTERVALS_MAX_BYTES), &pids);
	if (r)
		return r;
	say_what_is_wrong(s, v, cut);
	r = apply(s, v, &labelled);
	if (r)
		return r;
	if (v->lines > v->bad_lines && !labelled && profile_n_samples(s->profile))
		warn(s, "no sample lies in any interval of the file; begin and end must be in "
			"nanoseconds of the process's CLOCK_MONOTONIC, and pid must be the "
			"process's number in krait's pid namespace");
	log_info("%llu of %llu samples have labels of %s", (unsigned long long)labelled,
		 (unsigned long long)profile_n_samples(s->profile), s->options->label_intervals);
	return 0;
}

void label_intervals_add(struct session *s)
{
	_cleanup_(intervals_fini) struct intervals v = {};
	_cleanup_str_ struct str text = {};

	if (!s->options->label_intervals)
		return;
	if (add(s, &text, &v))
		warn(s, "%s; no sample has labels from the file", err_msg());
	profile_forget_failure(s->profile);
}
