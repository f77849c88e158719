/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the packages of an installed distribution; see distribution.h. A distribution has a folder
 * NAME-VERSION.dist-info, whose file RECORD lists all files of the distribution (the specification
 * of installed projects). The folder of an egg has a top_level.txt. NAME and VERSION don't follow
 * from a package's name, so all such folders are searched.
 */
#include "proc/distribution.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/vec.h"
#include "proc/read/aside.h"
#include "proc/files/file_tasks.h"
#include "proc/read/owner.h"

/* how long a search may take: less than the main thread waits for the child that searches */
#define SEARCH_NS    (150 * NSEC_PER_MSEC)
#define RECORD_BYTES ((size_t)4 << 20)
#define MOST_BYTES   1024 /* the most bytes of all names of packages together */
/* the most folders that are used of one RECORD, which may list any number of files */
#define MOST_FOLDERS 32
/*
 * The most lines of a RECORD whose package is determined. Lines with the package of the preceding
 * line, which are most lines, don't count.
 */
#define MOST_LOOKS 4096
#define MOST_DEEP  8 /* the most folders between site-packages and a package */

size_t distribution_site(const char *path)
{
	static const char *const names[] = {"/site-packages/", "/dist-packages/"};
	size_t cut = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (const char *s = path; (s = strstr(s, names[i])); s++)
			cut = MAX(cut, (size_t)(s - path) + strlen(names[i]));
	return cut;
}

/* Returns how many bytes at @s belong to a Python identifier. */
static size_t name_bytes(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n && !isdigit((unsigned char)*s) ? n : 0;
}

/* Returns the character that a package's name has for @c in the package's path: '.' for '/'. */
static char letter(char c)
{
	return c == '/' ? '.' : c;
}

static bool is_known(const char *at, const char *name, size_t n)
{
	for (size_t k, i; *at; at += k + (at[k] == ' ')) {
		k = strcspn(at, " ");
		for (i = 0; k == n && i < n && at[i] == letter(name[i]); i++)
			;
		if (k == n && i == n)
			return true;
	}
	return false;
}

/* Appends a package's name. False: @ret has that name already, or has no room for it. */
static bool add(struct str *ret, const char *name, size_t n)
{
	if (!n || ret->n + n >= MOST_BYTES || is_known(str_cstr(ret), name, n))
		return false;
	if (ret->n)
		str_add_c(ret, ' ');
	for (size_t i = 0; i < n; i++)
		str_add_c(ret, letter(name[i]));
	return true;
}

/* Returns the beginning of the line after the line at @s; it is "" after the last line. */
static const char *next_line(const char *s)
{
	const char *end = strchrnul(s, '\n');

	return end + (*end == '\n');
}

/* Does @text, a RECORD, have a line "PATH,hash,size" for file @file? */
static bool has_line(const char *text, const char *file, size_t n)
{
	for (const char *s = text; *s; s = next_line(s))
		if (!strncmp(s, file, n) && strchr(",\r\n", s[n]))
			return true;
	return false;
}

/*
 * Returns the length of the path "a/b/c.py" at the beginning of @line; 0: the line isn't of a
 * Python file.
 */
static size_t module_bytes(const char *line)
{
	size_t n = 0, k;

	while ((k = name_bytes(line + n)) && line[n + k] == '/')
		n += k + 1;
	return k && !strncmp(line + n + k, ".py,", 4) ? n + k + 3 : 0;
}

/* A folder of Python code that has an __init__.py. */
struct folder {
	const char *name;
	size_t n;
};
typedef VEC(struct folder) folder_vec;

static int by_name(const void *a, const void *b)
{
	const struct folder *x = a, *y = b;
	int r = memcmp(x->name, y->name, MIN(x->n, y->n));

	return r ? r : (x->n > y->n) - (x->n < y->n);
}

/*
 * Finds all folders in a RECORD that have an __init__.py, and sorts them by path. The text is read
 * only once, whatever it holds. 0 or -ENOMEM.
 */
static int find_folders(const char *text, folder_vec *ret)
{
	static const char end[] = "/__init__.py";
	size_t k = strlen(end);
	int r = 0;

	for (const char *s = text; !r && *s; s = next_line(s)) {
		size_t n = module_bytes(s);

		if (n > k && !strncmp(s + n - k, end, k))
			r = vec_push(ret, (struct folder){s, n - k});
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_name);
	return r;
}

static bool is_package(const folder_vec *folders, const char *name, size_t n)
{
	const struct folder wanted = {name, n};

	return folders->n && bsearch(&wanted, folders->v, folders->n, sizeof(*folders->v), by_name);
}

/*
 * Returns the length of the path of the package that the file in @line belongs to: the outermost
 * folder with an __init__.py. (Folders above it may be shared with other distributions.) For a
 * module outside of packages, returns the length of the module's name.
 */
static size_t package_bytes(const folder_vec *folders, const char *line, size_t n)
{
	size_t at = 0;

	for (int depth = 0; depth < MOST_DEEP; depth++) {
		size_t k = name_bytes(line + at);

		if (!k || at + k >= n || line[at + k] != '/')
			break;
		at += k;
		if (is_package(folders, line, at))
			return at;
		at++;
	}
	/* No folder on the way has an __init__.py, so the whole folder counts as the package. */
	return at ? at - 1 : name_bytes(line);
}

/* Does the line belong to the same package as the preceding line, as most lines do? */
static bool is_in(const char *line, size_t n, const char *last, size_t last_n)
{
	return last_n && n > last_n && !strncmp(line, last, last_n) && line[last_n] == '/';
}

static void add_packages(const char *text, const folder_vec *folders, struct str *ret)
{
	const char *last = text;
	size_t last_n = 0, told = 0, looks = 0;

	for (const char *s = text; *s && told < MOST_FOLDERS; s = next_line(s)) {
		size_t n = module_bytes(s);

		if (!n || is_in(s, n, last, last_n))
			continue;
		if (looks++ == MOST_LOOKS)
			break;
		last = s;
		last_n = package_bytes(folders, s, n);
		told += add(ret, last, last_n);
	}
}

bool distribution_from_record(const char *text, const char *file, struct str *ret)
{
	folder_vec folders = {};

	if (!has_line(text, file, strlen(file)))
		return false;
	if (find_folders(text, &folders))
		ret->failed = true;
	else
		add_packages(text, &folders, ret);
	vec_fini(&folders);
	return true;
}

bool distribution_from_top_level(const char *text, const char *file, struct str *ret)
{
	size_t n = name_bytes(file), looks = 0;

	if (!n || !has_line(text, file, n))
		return false;
	for (const char *s = text; *s && looks < MOST_LOOKS; s = next_line(s)) {
		n = name_bytes(s);
		if (!n || !strchr("\r\n", s[n]))
			continue;
		add(ret, s, n);
		looks++;
	}
	return true;
}

void distribution_from_script(const char *text, struct str *ret)
{
	const char *s = str_starts(text, "from ") ? text : strstr(text, "\nfrom ");

	if (s)
		s += strcspn(s, " ") + 1;
	if (s)
		add(ret, s, name_bytes(s));
}

struct question {
	struct file_opener opener;
	size_t site;
	/* path of a file in site-packages/; its first .site bytes are the path of site-packages/ */
	char path[FILE_TASK_PATH];
};

/*
 * Opens @name in site-packages/; runs in the child. Returns a descriptor, or -errno; -EINVAL: the
 * file isn't of @type.
 */
static int open_there(const struct question *q, const char *name, mode_t type)
{
	struct file_walk w = {.opener = q->opener,
			      .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (snprintf(w.path, sizeof(w.path), "%.*s%s", (int)q->site, q->path, name) >=
	    (int)sizeof(w.path))
		return -ENAMETOOLONG;
	fd = file_walk_here(&w, reader_given());
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	return (st.st_mode & S_IFMT) == type ? file_open_here(&q->opener, fd) : -EINVAL;
}

static int read_text(const struct question *q, const char *folder, const char *name, char *text)
{
	char path[NAME_MAX + 32];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open_there(q, path, S_IFREG);
	n = fd < 0 ? fd : pread(fd, text, RECORD_BYTES, 0);
	if (n < 0)
		return -ENOENT;
	text[n] = '\0';
	return 0;
}

static bool search_in(const struct question *q, const char *folder, char *text, struct str *ret)
{
	const char *file = q->path + q->site;

	if (!str_ends(folder, ".dist-info") && !str_ends(folder, ".egg-info"))
		return false;
	if (!read_text(q, folder, "RECORD", text))
		return distribution_from_record(text, file, ret);
	return !read_text(q, folder, "top_level.txt", text) &&
	       distribution_from_top_level(text, file, ret);
}

static int search(const struct question *q, struct str *ret)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + SEARCH_NS;
	_cleanup_free_ char *text = malloc(RECORD_BYTES + 1);
	int fd = text ? open_there(q, "", S_IFDIR) : -ENOMEM;
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? fd : -ENOMEM;
	}
	while ((e = readdir(dir))) {
		if (search_in(q, e->d_name, text, ret))
			return 0;
		if (clock_ns(CLOCK_MONOTONIC) > until)
			return -EAGAIN;
	}
	return -ENOENT;
}

/* A reader_task (reader.h): searches the installed distributions for names of packages. */
static ssize_t search_task(pid_t pid, void *bytes, size_t most)
{
	const struct question q = *(const struct question *)bytes;
	_cleanup_str_ struct str found = {};
	int r = search(&q, &found);

	(void)pid;
	if (r || found.failed)
		return r ? r : -ENOMEM;
	memcpy(bytes, str_cstr(&found), MIN(found.n, most));
	return (ssize_t)MIN(found.n, most);
}

int distribution_of(int procdir, const char *path, struct str *ret)
{
	_cleanup_close_ int root = openat(procdir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(proc_owner_fini) struct proc_owner owner = {};
	struct question q = {.site = distribution_site(path)};
	pid_t pid = aside_pid_of(procdir);
	/* a negative id, which no process has, because this task reads no process's memory */
	struct reader_request ask = {.pid = -1 - pid,
				     .uid = proc_user_of(pid),
				     .task = search_task,
				     .bytes = &q,
				     .n = sizeof(q),
				     .most = sizeof(q),
				     .give = root};
	struct opener opener;
	ssize_t got = root < 0 || proc_owner_read(procdir, &owner) ? -ESRCH : 0;

	if (got || !q.site || strlen(path) >= sizeof(q.path))
		return got ? (int)got : -ENOENT;
	opener = opener_if_root(&owner);
	q.opener = file_opener_of(&opener);
	strcpy(q.path, path);
	got = reader_ask(&ask);
	if (got < 0)
		return (int)got;
	str_add_n(ret, (const char *)&q, MIN((size_t)got, sizeof(q)));
	return ret->failed ? -ENOMEM : 0;
}
