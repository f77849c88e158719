/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which other packages were installed together with a package that a process runs. For
 * example, a process runs `celery -A jobs`, and one wheel has both jobs and helpers. The recording
 * only says which packages belong together. Whose code they are is decided when the recording is
 * read (view/names/origin.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/far.h"
#include "collect/budget/asked.h"
#include "collect/code/codes.h"
#include "collect/code/together.h"
#include "proc/distribution.h"
#include "proc/files/files.h"
#include "proc/files/open_as.h"
#include "proc/proc.h"

#define LOOKS_MOST 16 /* the most packages whose distributions are looked for in one recording */
/*
 * The most tries to find the distribution of one package. A try takes at most as long as
 * distribution_of() allows. The next try gets further, because the page cache has what this try has
 * read.
 */
#define TRIES	     8
#define SCRIPT_BYTES (4 << 10)

/* A package whose installed distribution is looked for. */
struct together {
	char *key; /* container and directory of the package, as one text */
	/* a file of the package, by which its distribution is found; NULL: no file is known yet */
	char *file;
	struct proc_key process; /* the process that last had code of the package */
	unsigned tries;
	bool done;
};

struct packages {
	VEC(struct together) list;
};

bool together_init(struct collect *c)
{
	return (c->packages = calloc(1, sizeof(struct packages)));
}

/*
 * Is @typed, which a user typed as an argument, the name of the package @name? "jobs-worker" means
 * jobs_worker.
 */
static bool same_name(const char *typed, const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (typed[i] != name[i] && !(typed[i] == '-' && name[i] == '_'))
			return false;
	return !typed[n] || typed[n] == '.' || typed[n] == ' ';
}

/*
 * Does the process's command line say that this package is to be run? Only such a package counts as
 * the user's code. The directory of the package may also hold packages of others, such as servers.
 */
static bool is_run(const struct process *p, const char *name, size_t n)
{
	if ((p->name && same_name(p->name, name, n)) ||
	    (p->launched && same_name(p->launched, name, n)))
		return true;
	for (const char *s = p->entry; s && *s; s += *s == ' ') {
		if (same_name(s, name, n))
			return true;
		s += strcspn(s, " ");
	}
	return false;
}

/*
 * Returns the entry of a package, which is added if it is new. NULL: there are too many packages,
 * or memory is lacking.
 */
static struct together *together_of(struct collect *c, const struct process *p, const char *file,
				    size_t n)
{
	_cleanup_str_ struct str key = {};

	str_addf(&key, "%s %.*s", p->container ?: "", (int)n, file);
	vec_foreach(t, &c->packages->list)
		if (streq(t->key, str_cstr(&key)))
			return t;
	if (c->packages->list.n == LOOKS_MOST || key.failed ||
	    vec_push(&c->packages->list, (struct together){.key = strdup(str_cstr(&key))}))
		return NULL;
	return &c->packages->list.v[c->packages->list.n - 1];
}

static int open_same(const struct process *p, struct proc *ret)
{
	int r = proc_open(ret, p->key.tgid);

	return r ? r : process_is(p, ret) ? 0 : -ESRCH;
}

/* Notes a package that @p runs; together_look() looks for it later. */
static void want(struct collect *c, const struct process *p, const char *file)
{
	size_t site = distribution_site(file), n = strcspn(file + site, "/.");
	struct together *t;

	if (!site || !n || !is_run(p, file + site, n))
		return;
	t = together_of(c, p, file, site + n);
	if (!t || t->done)
		return;
	t->process = p->key;
	t->file = t->file ?: strdup(file);
}

static void look(struct collect *c, struct together *t)
{
	const struct process *p = process_newest(c, t->process.tgid);
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_str_ struct str names = {};
	int r;

	if (!p || memcmp(&p->key, &t->process, sizeof(p->key)) || open_same(p, &proc))
		return;
	r = distribution_of(proc.dirfd, t->file, &names);
	t->done = !r || r == -ENOENT || ++t->tries == TRIES;
	if (!r && strchr(str_cstr(&names), ' '))
		profile_add_comment(c->profile, COMMENTS_TOGETHER, str_cstr(&names));
}

void together_look(struct collect *c)
{
	vec_foreach(t, &c->packages->list) {
		uint64_t began_ns = asked_begin();

		if (!asked_may(c))
			return;
		if (!t->done && t->file)
			look(c, t);
		asked_end(c, began_ns);
	}
}

/* Is @code the top level of a console script? A console script has no other code object. */
static bool is_launcher(const struct py_code *code)
{
	return !distribution_site(code->file) && !str_ends(code->file, ".py") &&
	       strstr(code->file, "bin/") && code->name && streq(code->name, "<module>");
}

/* Opens a console script with the rights of the user of its process. */
static int open_launcher(const struct proc *proc, const char *file)
{
	_cleanup_close_ int root = openat(proc->dirfd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(proc_owner_fini) struct proc_owner owner = {};
	struct opener opener;

	if (root < 0 || proc_owner_read(proc->dirfd, &owner))
		return -ESRCH;
	opener = opener_if_root(&owner);
	return file_open_as(&opener, FILE_LINKS, root, file);
}

static void read_launcher(struct process *p, const char *file)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_str_ struct str name = {};
	_cleanup_close_ int fd = -1;
	char text[SCRIPT_BYTES + 1];
	ssize_t n;

	fd = open_same(p, &proc) ? -1 : open_launcher(&proc, file);
	n = fd < 0 ? -1 : far_pread(fd, text, SCRIPT_BYTES, 0);
	text[MAX(n, (ssize_t)0)] = '\0';
	distribution_from_script(text, &name);
	p->launched = str_take(&name);
}

void together_met(struct collect *c, struct process *p, const struct py_code *code)
{
	/*
	 * code of "<frozen os>" or "<string>" is in no package, and when Python starts it runs
	 * little else
	 */
	if (!code->file || *code->file == '<' || p->unwanted)
		return;
	if (p->launched || !is_launcher(code)) {
		want(c, p, code->file);
		return;
	}
	read_launcher(p, code->file);
	vec_foreach(met, &p->codes)
		if ((*met)->file)
			want(c, p, (*met)->file);
}

void together_fini(struct collect *c)
{
	if (!c->packages)
		return;
	vec_foreach(t, &c->packages->list) {
		free(t->key);
		free(t->file);
	}
	vec_fini(&c->packages->list);
	free(c->packages);
}
