/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads files of /proc/PID in a child of krait; see aside.h. This file has both sides: the caller's
 * and the child's.
 */
#include "proc/read/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/self.h"
#include "proc/read/reader.h"

#define NAME_BYTES 32 /* bytes for the name of a file of /proc/PID */
#define LINK_BYTES 96 /* bytes for "/proc/PID/task/TID" */

pid_t aside_pid_of(int procdir)
{
	char self[32], link[LINK_BYTES] = "";
	const char *at;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", procdir);
	if (readlink(self, link, sizeof(link) - 1) <= 0)
		return 0;
	at = strstr(link, "/task/");
	if (at)
		link[at - link] = '\0';
	at = strrchr(link, '/');
	return at ? atoi(at + 1) : 0;
}

/* A reader_task (reader.h): reads a text file of a process into @bytes. */
static ssize_t read_text(pid_t pid, void *bytes, size_t most)
{
	_cleanup_close_ int fd = openat(reader_given(), bytes, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : 1;
	size_t n = 0;

	(void)pid;
	for (; got > 0 && n < most; n += (size_t)MAX(got, (ssize_t)0))
		got = read(fd, (char *)bytes + n, most - n);
	return got < 0 ? -errno : (ssize_t)n;
}

int aside_read(int procdir, const char *name, size_t max, struct str *ret)
{
	size_t most = MIN(MAX(max, (size_t)NAME_BYTES), (size_t)READER_TASK_BYTES);
	pid_t pid = aside_pid_of(procdir);
	_cleanup_free_ char *bytes = pid > 0 && pid != self_pid() ? malloc(most) : NULL;
	ssize_t got = -EAGAIN;

	if (bytes) {
		snprintf(bytes, NAME_BYTES, "%s", name);
		got = reader_run(pid, procdir, read_text, bytes, NAME_BYTES, most);
	}
	if (got == -ETIMEDOUT)
		return (int)got;
	if (got < 0)
		return proc_file_read(procdir, name, max, ret);
	str_add_n(ret, bytes, MIN((size_t)got, max));
	return ret->failed ? -ENOMEM : 0;
}

struct maps_question {
	/*
	 * number of the list of mappings that is wanted; each reading of mappings has a new number
	 */
	uint64_t number;
	uint64_t from; /* only mappings that end after this address are wanted */
	unsigned want;
};

/*
 * Size of an answer that has room for the executable mappings of most processes, some two dozen. If
 * a path is too long for such an answer, the answer gets READER_TASK_BYTES, enough for any path
 * (READ_BYTES in maps.c).
 */
#define ANSWER_BYTES (16u << 10)

/*
 * The head of the child's answer. It is followed by .n mappings, and these by a text with their
 * paths.
 */
struct maps_answer {
	size_t n, text_bytes, malformed;
	bool truncated, more;
};

/*
 * Does mapping @i have the same path as mapping @first? The mappings of a file mostly follow one
 * another, so their path is sent once.
 */
static bool same_path(const struct maps *m, size_t first, size_t i)
{
	return i > first && streq(maps_path(m, &m->list.v[i]), maps_path(m, &m->list.v[i - 1]));
}

/* Packs into an answer as many mappings as fit. False: not even one fits. */
static bool pack(const struct maps *m, size_t first, char *bytes, size_t most)
{
	struct maps_answer a = {.malformed = m->malformed, .truncated = m->truncated};
	size_t room = most - sizeof(a), text = 0, n = first;
	struct mapping *to = (struct mapping *)(bytes + sizeof(a));
	char *paths;

	for (; n < m->list.n; n++) {
		size_t path = same_path(m, first, n) ? 0 : strlen(maps_path(m, &m->list.v[n])) + 1;

		if ((n + 1 - first) * sizeof(*to) + text + path > room)
			break;
		text += path;
	}
	a.n = n - first;
	a.more = n < m->list.n;
	a.text_bytes = text;
	memcpy(bytes, &a, sizeof(a));
	paths = (char *)(to + a.n);
	text = 0;
	for (size_t i = 0; i < a.n; i++) {
		const char *path = maps_path(m, &m->list.v[first + i]);

		to[i] = m->list.v[first + i];
		if (same_path(m, first, first + i)) {
			to[i].path = to[i - 1].path;
			continue;
		}
		to[i].path = (uint32_t)text;
		memcpy(paths + text, path, strlen(path) + 1);
		text += strlen(path) + 1;
	}
	return a.n || !a.more;
}

/*
 * Waits, in the child, until the process's list of mappings isn't locked, so that krait needn't
 * wait later: from Linux 6.17 on the list can be read while it is locked, but files of map_files
 * can't be opened. The child looks up in map_files a mapping that no process has, for which the
 * kernel takes the lock. SIGKILL ends this wait, but wouldn't end a wait in process_vm_readv().
 */
static void wait_for_lock(void)
{
	struct stat none;

	(void)fstatat(reader_given(), "map_files/0-1", &none, AT_SYMLINK_NOFOLLOW);
}

/* The list of mappings that this child has read last, from which it gives several answers. */
static struct {
	uint64_t number; /* number of the list that the child keeps; 0: it keeps none */
	struct maps maps;
} kept;

static int read_list(const struct maps_question *q)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (q->from && kept.number == q->number)
		return 0;
	maps_fini(&kept.maps);
	kept.number = 0;
	fd = openat(reader_given(), "maps", O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : maps_read_fd(fd, q->want, &kept.maps);
	if (!r)
		kept.number = q->number;
	return r;
}

/* A reader_task (reader.h): reads mappings of a process into @bytes. */
static ssize_t read_maps(pid_t pid, void *bytes, size_t most)
{
	const struct maps_question q = *(const struct maps_question *)bytes;
	const struct maps_answer *a = bytes;
	size_t first;
	int r = read_list(&q);

	if (r)
		return r;
	(void)pid;
	wait_for_lock();
	first = count_upto(kept.maps.list.v, kept.maps.list.n, end, q.from);
	if (!pack(&kept.maps, first, bytes, most))
		return -ENOBUFS;
	return (ssize_t)(sizeof(*a) + a->n * sizeof(struct mapping) + a->text_bytes);
}

/*
 * Unpacks an answer of krait's own child. The answer is checked like any input, because the child
 * has made it from a text about another process.
 */
static int unpack(const char *bytes, size_t n, struct maps *m, bool *more)
{
	struct maps_answer a;
	const struct mapping *list = (const struct mapping *)(bytes + sizeof(a));
	const char *paths;
	size_t at = m->text.n;

	if (n < sizeof(a))
		return -EIO;
	memcpy(&a, bytes, sizeof(a));
	if (a.n > (n - sizeof(a)) / sizeof(*list) ||
	    a.text_bytes != n - sizeof(a) - a.n * sizeof(*list))
		return -EIO;
	paths = (const char *)(list + a.n);
	if (a.n && (!a.text_bytes || paths[a.text_bytes - 1]))
		return -EIO;
	str_add_n(&m->text, paths, a.text_bytes);
	if (m->text.failed || vec_reserve(&m->list, m->list.n + a.n))
		return -ENOMEM;
	for (size_t i = 0; i < a.n; i++) {
		if (list[i].path >= a.text_bytes)
			return -EIO;
		m->list.v[m->list.n] = list[i];
		m->list.v[m->list.n++].path += (uint32_t)at;
	}
	m->malformed = a.malformed;
	m->truncated = a.truncated;
	*more = a.more && m->list.n < MAPS_MAX_LIST;
	return 0;
}

static int ask(int procdir, pid_t pid, const struct maps_question *q, char *bytes, size_t most,
	       struct maps *m, bool *more)
{
	ssize_t got;

	memcpy(bytes, q, sizeof(*q));
	got = reader_run(pid, procdir, read_maps, bytes, sizeof(*q), most);
	return got < 0 ? (int)got : unpack(bytes, (size_t)got, m, more);
}

int aside_maps(int procdir, pid_t pid, unsigned want, struct maps *m)
{
	static atomic_ullong lists;
	struct maps_question q = {.number = atomic_fetch_add(&lists, 1) + 1, .want = want};
	_Alignas(struct mapping) char small[ANSWER_BYTES];
	_cleanup_free_ char *large = NULL;
	bool more = true;
	int r = 0;

	if (pid <= 0 || pid == self_pid())
		return -EAGAIN;
	while (!r && more) {
		r = ask(procdir, pid, &q, large ?: small, large ? READER_TASK_BYTES : sizeof(small),
			m, &more);
		if (r == -ENOBUFS && !large)
			r = (large = malloc(READER_TASK_BYTES)) ? 0 : -ENOMEM;
		q.from = m->list.n ? m->list.v[m->list.n - 1].end : 0;
	}
	return r;
}
