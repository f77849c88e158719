/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening source files without krait's rights; see source_open.h. */
#include "host/source_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/far.h"
#include "base/log.h"
#include "base/str.h"
#include "base/util.h"
#include "proc/files.h"
#include "proc/open_as.h"

enum { NOBODY = 65534 };
enum { MOST_NAMED = 20 }; /* files in a line of words */

int source_options_mode(const struct source_options *o, enum source_mode *ret)
{
	if (o->all && o->none)
		return err_set(-EINVAL, "--source and --no-source exclude each other; keep one");
	*ret = o->none ? SOURCE_NONE : o->all ? SOURCE_ALL : SOURCE_OWN;
	return 0;
}

bool source_named(const char *path)
{
	return *path == '/' && (str_ends(path, ".py") || str_ends(path, ".pyx"));
}

static struct opener nobody(void)
{
	return (struct opener){.has_id = true, .uid = NOBODY, .gid = NOBODY};
}

/* The user who called; root only with all its rights if that was asked for. */
static struct opener caller_of(const struct source_rules *r)
{
	const struct caller *c = r->caller;

	if (c->other)
		return caller_opener(c);
	if (geteuid())
		return (struct opener){};
	return r->mode == SOURCE_ALL ? (struct opener){.as_is = true} : nobody();
}

static uid_t caller_uid(const struct source_rules *r)
{
	return r->caller->other ? r->caller->uid : getuid();
}

int source_open_below(const struct source_rules *r, int root, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct opener u = caller_of(r);
	struct stat st;

	if (r->mode == SOURCE_NONE || !source_named(path))
		return -EINVAL;
	fd = file_open_as(&u, FILE_NO_LINK, root, path);
	if (fd < 0)
		return fd;
	if (far_stat(fd, &st))
		return -errno;
	return r->mode == SOURCE_OWN && st.st_uid != caller_uid(r) ? -EPERM : TAKE_FD(fd);
}

int source_open(const struct source_rules *r, const char *path)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : source_open_below(r, root, path);
}

bool source_is_own(const struct source_rules *r, const char *path)
{
	_cleanup_close_ int fd = source_open(r, path);
	struct stat st;

	return fd >= 0 && !far_stat(fd, &st) && st.st_uid == caller_uid(r);
}

int64_t source_ran(struct profile *p, const char *path)
{
	struct stat st;

	if (profile_meta(p)->time_ns)
		return profile_meta(p)->time_ns;
	if (streq(path, "-") || stat(path, &st))
		return INT64_MAX / 2;
	return (int64_t)timespec_ns(st.st_mtim);
}

int64_t source_since(const struct source_recorded *s, uint32_t function)
{
	uint64_t before_ms = profile_get_ran_before(s->p, function);
	int64_t since;

	return __builtin_sub_overflow(s->since_ns, before_ms * NSEC_PER_MSEC, &since) ? INT64_MIN
										      : since;
}

int source_open_recorded(void *recorded, const char *path, int64_t *since_ns)
{
	const struct source_recorded *s = recorded;

	*since_ns = s->since_ns;
	for (uint32_t id = 1; id <= profile_n_functions(s->p); id++)
		if (streq(profile_get_string(s->p, profile_get_function(s->p, id)->file), path))
			*since_ns = MIN(*since_ns, source_since(s, id));
	return source_open(&s->rules, path);
}

void source_shown(void *recorded, const char *path)
{
	struct source_recorded *s = recorded;

	(void)!vec_push(&s->shown, path);
}

void source_say_shown(struct source_recorded *s, const char *output)
{
	_cleanup_str_ struct str names = {};

	for (size_t i = 0; i < s->shown.n && i < MOST_NAMED; i++)
		str_addf(&names, "%s%s", i ? ", " : "", s->shown.v[i]);
	if (s->shown.n > MOST_NAMED)
		str_addf(&names, " and %zu more", s->shown.n - MOST_NAMED);
	if (s->shown.n)
		log_note("source text of %zu file%s is in %s: %s", s->shown.n,
			 s->shown.n == 1 ? "" : "s", output ? output : "standard output",
			 str_cstr(&names));
	vec_fini(&s->shown);
}

bool source_owner_may(const struct source_rules *r, int root, const char *path, int fd,
		      const struct proc_owner *owner)
{
	_cleanup_close_ int theirs = -1;
	const struct opener u = opener_of(owner);
	struct stat a, b;

	if (owner->uid == 0 || owner->uid == caller_uid(r))
		return true;
	if (geteuid()) /* sees its own user's processes only, and can't become another */
		return false;
	theirs = file_open_as(&u, FILE_NO_LINK, root, path);
	return theirs >= 0 && !far_stat(fd, &a) && !far_stat(theirs, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

bool source_memory_shown(const struct source_rules *r, const struct proc_owner *owner)
{
	if (r->mode == SOURCE_NONE)
		return false;
	return (owner->uid == caller_uid(r) && !owner->mixed) ||
	       (r->mode == SOURCE_ALL && !r->caller->other && geteuid() == 0);
}

static int open_root(int procdir, const char *name)
{
	int fd = openat(procdir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int source_root_of(const struct source_rules *r, int procdir)
{
	struct opener u = caller_of(r);

	if (!r->caller->other && geteuid() == 0)
		u.as_is = true; /* root may; only its files are looked at as nobody */
	return open_as(&u, open_root, procdir, "root");
}
