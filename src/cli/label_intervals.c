/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the file of intervals as the user who called, and what is said of it; see label_intervals.h. */
#include "cli/label_intervals.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/nomem.h"
#include "base/str.h"
#include "proc/open_as.h"
#include "profile/intervals.h"

/* On the terminal and in the recording. */
static void _printf_(2, 3) warn(struct session *s, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	log_warn("--label-intervals %s: %s", s->options->label_intervals, text);
	profile_add_comment(s->profile, COMMENTS_WARNING, text);
}

static int open_it(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

/* The user who called, without the right of krait's file to read those of others. */
static struct opener opener(const struct caller *c)
{
	if (c->other)
		return (struct opener){.has_id = true,
				       .uid = c->uid,
				       .gid = c->gid,
				       .groups = c->groups.v,
				       .n_groups = c->groups.n};
	return (struct opener){.as_is = !geteuid()};
}

/* A regular file: nothing else has an end that comes for sure. */
static int open_file(const struct session *s)
{
	struct opener u = opener(&s->caller);
	_cleanup_close_ int fd = open_as(&u, open_it, AT_FDCWD, s->options->label_intervals);
	struct stat st;

	if (fd < 0)
		return err_sys(fd, "can't be read");
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return err_set(-EINVAL, "isn't a regular file");
	return TAKE_FD(fd);
}

/* At most one byte more than may be taken. */
static int read_file(int fd, struct str *text)
{
	static char buf[1 << 16];
	ssize_t n = 1;

	while (n > 0 && text->n <= INTERVALS_MAX_BYTES) {
		n = read(fd, buf, MIN(sizeof(buf), INTERVALS_MAX_BYTES + 1 - text->n));
		if (n > 0)
			str_add_n(text, buf, (size_t)n);
		if (text->failed)
			return err_nomem();
	}
	return n < 0 ? err_sys(-errno, "can't be read") : 0;
}

static void say_what_is_wrong(struct session *s, const struct intervals *v, bool cut)
{
	if (cut)
		warn(s, "only its first %zu MiB were read", INTERVALS_MAX_BYTES >> 20);
	if (v->bad_lines)
		warn(s, "%llu of %llu lines aren't intervals and were passed over; the first is %s",
		     (unsigned long long)v->bad_lines, (unsigned long long)v->lines, v->first_bad);
	if (v->texts.n > INTERVALS_MAX_VALUES)
		warn(s, "more than %d different values; the rest are " INTERVALS_OTHER,
		     INTERVALS_MAX_VALUES);
}

static int add(struct session *s, struct str *text, struct intervals *v)
{
	_cleanup_close_ int fd = open_file(s);
	bool cut;
	uint64_t labelled;
	int r = fd < 0 ? fd : read_file(fd, text);

	if (r)
		return r;
	cut = text->n > INTERVALS_MAX_BYTES;
	r = intervals_read(v, str_cstr(text), MIN(text->n, INTERVALS_MAX_BYTES));
	if (r)
		return r;
	say_what_is_wrong(s, v, cut);
	r = intervals_apply(v, s->profile, s->start_ns, &labelled);
	if (r)
		return r;
	if (v->list.n && !labelled && profile_n_samples(s->profile))
		warn(s,
		     "no sample is in any of its intervals; their times are CLOCK_MONOTONIC's, in "
		     "nanoseconds, and pid is the process's number where krait runs");
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
		warn(s, "%s; no sample has its labels", err_msg());
	profile_forget_failure(s->profile);
}

const char *label_intervals_by(const struct session *s)
{
	const char *by = s->options->view.by;

	if (!record_by_interval(s->options))
		return by;
	for (uint32_t id = 1; id <= profile_n_labels(s->profile); id++)
		if (profile_label_value(s->profile, id, by))
			return by;
	log_warn("--by %s: no sample has that label; shown without it", by);
	return NULL;
}
