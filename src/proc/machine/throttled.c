/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads how long control groups were throttled; see throttled.h. */
#include "proc/machine/throttled.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/text/str.h"

#define DEPTH 16

struct listing {
	size_t root; /* length in bytes of the path of the tree's root directory */
	unsigned looked;
	throttled_vec *ret;
};

/*
 * Returns the time for which the group of directory @dir was throttled, by its cpu.stat file: v2
 * gives it in us, v1 in ns. 0: the group was never throttled.
 */
static uint64_t read_stat(const char *dir)
{
	_cleanup_str_ struct str path = {};
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long long n;
	char word[32];

	str_addf(&path, "%s/cpu.stat", dir);
	f = path.n ? fopen(str_cstr(&path), "re") : NULL;
	while (f && fscanf(f, "%31s %llu", word, &n) == 2) {
		if (streq(word, "throttled_usec"))
			return n <= UINT64_MAX / 1000 ? n * 1000 : 0;
		if (streq(word, "throttled_time"))
			return n;
	}
	return 0;
}

static void take(struct listing *l, const char *dir)
{
	struct throttled t = {.ns = read_stat(dir)};

	if (!t.ns)
		return;
	t.path = strdup(dir[l->root] ? dir + l->root : "/");
	if (t.path && vec_push(l->ret, t))
		free(t.path);
}

static void walk(struct listing *l, const char *dir, unsigned depth)
{
	_cleanup_closedir_ DIR *d = NULL;
	const struct dirent *e;

	if (l->looked++ >= THROTTLED_GROUPS)
		return;
	take(l, dir);
	d = depth < DEPTH ? opendir(dir) : NULL;
	while (d && l->looked < THROTTLED_GROUPS && (e = readdir(d))) {
		_cleanup_str_ struct str path = {};

		if (e->d_type != DT_DIR || *e->d_name == '.')
			continue;
		str_addf(&path, "%s/%s", dir, e->d_name);
		if (path.n)
			walk(l, str_cstr(&path), depth + 1);
	}
}

void throttled_list(const char *root, throttled_vec *ret)
{
	static const char *const trees[] = {"/cpu", "/cpu,cpuacct", "/unified", ""};

	for (size_t i = 0; i < ARRAY_SIZE(trees); i++) {
		_cleanup_str_ struct str tree = {}, mark = {};
		struct listing l = {.ret = ret};

		str_addf(&tree, "%s%s", root, trees[i]);
		str_addf(&mark, "%s/cgroup.procs", str_cstr(&tree));
		if (!mark.n || access(str_cstr(&mark), F_OK))
			continue;
		l.root = tree.n;
		walk(&l, str_cstr(&tree), 0);
		/*
		 * "cpu" is a controller in only one of the trees, so the other tree needn't be read
		 */
		return;
	}
}

void throttled_fini(throttled_vec *v)
{
	vec_foreach(t, v)
		free(t->path);
	vec_fini(v);
}

static uint64_t ns_of(const throttled_vec *v, const char *path)
{
	vec_foreach(t, v)
		if (streq(t->path, path))
			return t->ns;
	return 0;
}

void throttled_since(throttled_vec *now, const throttled_vec *before)
{
	size_t n = 0;

	vec_foreach(t, now) {
		uint64_t earlier = ns_of(before, t->path);

		if (t->ns <= earlier) {
			free(t->path);
			continue;
		}
		t->ns -= earlier;
		now->v[n++] = *t;
	}
	now->n = n;
}

bool throttled_holds(const char *in, const char *path)
{
	size_t n = streq(in, "/") ? 0 : strlen(in);

	return !strncmp(in, path, n) && (!path[n] || path[n] == '/');
}
