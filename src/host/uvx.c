/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the command run outside of the environment that uvx has made for krait; see uvx.h. */
#include "host/uvx.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/cleanup.h"

#define DISTRIBUTION "krait_profiler-"

static const char *value(const struct environment *e, const char *name)
{
	return e->v.n ? environment_get(e, name) : getenv(name);
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/*
 * Tells whether krait is the only package that is installed in directory @site, which is an
 * environment's site-packages. (uv doesn't install pip into an environment.)
 */
static bool has_krait_alone(const char *site)
{
	_cleanup_closedir_ DIR *d = opendir(site);

	for (struct dirent *e; d && (e = readdir(d));)
		if (str_ends(e->d_name, ".dist-info") && !str_starts(e->d_name, DISTRIBUTION))
			return false;
	return d;
}

/* Tells whether @bin is the directory of programs in the environment that uvx made for krait. */
static bool is_kraits(const char *bin)
{
	_cleanup_closedir_ DIR *d = NULL;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/krait", bin);
	if (!same_file(path, "/proc/self/exe"))
		return false;
	snprintf(path, sizeof(path), "%s/../lib", bin);
	d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (!str_starts(e->d_name, "python"))
			continue;
		snprintf(path, sizeof(path), "%s/../lib/%s/site-packages", bin, e->d_name);
		return has_krait_alone(path);
	}
	return false;
}

static bool is_activated(const struct environment *e, const char *bin)
{
	const char *chosen = value(e, "VIRTUAL_ENV");
	char path[PATH_MAX];

	if (!chosen)
		return false;
	snprintf(path, sizeof(path), "%s/bin", chosen);
	return same_file(path, bin);
}

static int set_path(struct environment *e, const char *to)
{
	_cleanup_free_ char *entry = NULL;

	if (!e->v.n)
		return setenv("PATH", to, 1) ? -errno : 0;
	return asprintf(&entry, "PATH=%s", to) < 0 ? -ENOMEM : environment_set(e, entry);
}

int uvx_leave(struct environment *e)
{
	const char *path = value(e, "PATH"), *rest = path ? strchr(path, ':') : NULL;
	_cleanup_free_ char *bin = rest ? strndup(path, rest - path) : NULL;
	_cleanup_free_ char *to = rest ? strdup(rest + 1) : NULL;

	/* uv sets the variable UV, to its own path, for the programs that it starts. */
	if (!bin || !to || !value(e, "UV") || !is_kraits(bin) || is_activated(e, bin))
		return 0;
	return set_path(e, to);
}
