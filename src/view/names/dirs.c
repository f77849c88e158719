/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects the directories and scripts that a recording names; see dirs.h. */
#include "view/names/dirs.h"

#include "base/text/str.h"

typedef VEC(const char *) texts_t;

void dirs_fini(struct dirs *d)
{
	vec_fini(&d->all);
}

static int compare_dirs(const void *va, const void *vb)
{
	const struct dir *a = va, *b = vb;
	int r = memcmp(a->path, b->path, MIN(a->n, b->n));

	return r ? r : a->n < b->n ? -1 : a->n > b->n;
}

static int add(struct dirs *d, const char *path, size_t n)
{
	while (n && path[n - 1] == '/')
		n--;
	return n ? vec_push(&d->all, (struct dir){path, n}) : 0;
}

static void sort(struct dirs *d)
{
	if (d->all.n)
		qsort(d->all.v, d->all.n, sizeof(*d->all.v), compare_dirs);
}

/* Collects the values of label @key. Of equal values in a row only one is collected. */
static int collect_labels(struct profile *p, const char *key, texts_t *ret)
{
	for (uint32_t id = 1; id <= profile_n_labels(p); id++) {
		size_t n;
		const struct profile_label *l = profile_get_labels(p, id, &n);

		for (size_t i = 0; i < n; i++) {
			const char *value = profile_get_string(p, l[i].value);

			if (!streq(profile_get_string(p, l[i].key), key) ||
			    (ret->n && streq(ret->v[ret->n - 1], value)))
				continue;
			if (vec_push(ret, value))
				return -ENOMEM;
		}
	}
	return 0;
}

int dirs_of_processes(struct dirs *d, struct profile *p)
{
	const struct profile_meta *meta = profile_meta(p);
	texts_t texts = {};
	int r = collect_labels(p, "cwd", &texts);

	vec_foreach(text, &meta->comments.list)
		if (!r && str_starts(*text, "cwd: "))
			r = vec_push(&texts, (const char *)*text + strlen("cwd: "));
	vec_foreach(text, &texts)
		r = r ? r : add(d, *text, strlen(*text));
	vec_fini(&texts);
	sort(d);
	return r;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int dirs_scripts(struct profile *p, const dirs_files *files, dirs_files *ret)
{
	texts_t processes = {};
	int r = collect_labels(p, "process", &processes);

	if (processes.n)
		qsort(processes.v, processes.n, sizeof(*processes.v), compare_texts);
	for (size_t i = 0; !r && processes.n && i < files->n; i++) {
		const char *path = profile_get_string(p, files->v[i]);
		const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : NULL;

		if (name && bsearch(&name, processes.v, processes.n, sizeof(name), compare_texts))
			r = vec_push(ret, files->v[i]);
	}
	vec_fini(&processes);
	return r;
}

int dirs_of_scripts(struct dirs *d, struct profile *p, const dirs_files *files)
{
	dirs_files scripts = {};
	int r = dirs_scripts(p, files, &scripts);

	vec_foreach(file, &scripts) {
		const char *path = profile_get_string(p, *file);

		r = r ? r : add(d, path, (size_t)(strrchr(path, '/') - path));
	}
	vec_fini(&scripts);
	sort(d);
	return r;
}

size_t dirs_after(const struct dirs *d, const char *path)
{
	const char *slash = d->all.n ? strrchr(path, '/') : NULL;

	while (slash) {
		struct dir at = {path, (size_t)(slash - path)};

		if (bsearch(&at, d->all.v, d->all.n, sizeof(at), compare_dirs))
			return at.n + 1;
		slash = memrchr(path, '/', at.n);
	}
	return 0;
}
