/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists processes and threads. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "proc/read/maps.h"
#include "proc/proc.h"
#include "proc/read/stat.h"

static int by_number(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Lists the names of a directory's entries that are numbers, sorted. Takes over @fd. */
static int numbers_in(int fd, pid_vec *ret)
{
	_cleanup_closedir_ DIR *dir = fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	ret->n = 0;
	/* If the process ends, readdir() of its directory just stops, or says ENOENT or ESRCH. */
	while (!r && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			r = vec_push(ret, (pid_t)strtol(e->d_name, NULL, 10));
	if (!r && ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_number);
	return r;
}

int proc_list(pid_vec *ret)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : numbers_in(fd, ret);

	return r ? err_sys(r, "can't list the processes in /proc") : 0;
}

int proc_threads(const struct proc *p, pid_vec *ret)
{
	int fd = openat(p->dirfd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : numbers_in(fd, ret);

	if (r == -ENOENT || r == -ESRCH || (!r && !ret->n))
		return err_set(-ESRCH, "process %d has ended", p->tgid);
	return r ? err_sys(r, "can't list the threads of process %d", p->tgid) : 0;
}

/*
 * Makes @p refer to the directory of thread @tid. False: the process has no thread @tid, or the
 * thread has ended.
 */
static bool open_thread(struct proc *p, pid_t tid)
{
	_cleanup_close_ int fd = -1;
	struct proc_status s;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", tid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || proc_status_read(fd, "status", &s) || s.tgid != p->tgid)
		return false;
	close(p->dirfd);
	p->dirfd = TAKE_FD(fd);
	return true;
}

/* Opens /proc/TID, which exists for every thread, though listing /proc doesn't show it. */
bool proc_use_another_thread(struct proc *p)
{
	struct proc_stat st;
	pid_vec threads = {};
	bool used = false;

	if (!proc_stat_read(p->dirfd, &st) && st.state == 'Z' && !proc_threads(p, &threads))
		for (size_t i = 0; !used && i < threads.n; i++)
			used = threads.v[i] != p->tgid && open_thread(p, threads.v[i]);
	vec_fini(&threads);
	return used;
}

int proc_maps(struct proc *p, unsigned want, struct maps *ret)
{
	int r = maps_read_of(p->dirfd, p->tgid, want, ret);

	if (r || ret->list.n || !proc_use_another_thread(p))
		return r;
	maps_fini(ret);
	return maps_read_of(p->dirfd, p->tgid, want, ret);
}

/*
 * Reads the first thread's own stat file, because the stat file of the process sums up the times of
 * all threads.
 */
static int first_thread(const struct proc *p, struct proc_stat *ret)
{
	_cleanup_str_ struct str text = {};
	char path[40];
	int r;

	snprintf(path, sizeof(path), "task/%d/stat", p->tgid);
	r = proc_file_read(p->dirfd, path, 4096, &text);
	return r ? r : proc_stat_parse(str_cstr(&text), text.n, ret);
}

/*
 * Does process @p have threads besides the first one? The link count of the directory of threads,
 * which is two plus the number of threads, tells it without listing them.
 */
static bool has_other_threads(const struct proc *p)
{
	struct stat st;

	return !fstatat(p->dirfd, "task", &st, 0) && st.st_nlink > 3;
}

bool proc_has_ended(const struct proc *p)
{
	struct proc_stat st;

	return first_thread(p, &st) ||
	       ((st.state == 'Z' || st.state == 'X') && !has_other_threads(p));
}

/*
 * Is @pid the number of a process? The directory /proc/TID of a thread can be opened like a
 * process's. -EINVAL: @pid is the number of a thread; the message names the thread's process.
 */
static int check_number(pid_t pid)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	struct proc_status s;
	char number[16];
	int r = proc_open(&p, pid);

	if (r)
		return r;
	if (proc_status_read(p.dirfd, "status", &s) || !s.tgid || s.tgid == pid)
		/*
		 * @pid is a process, or its status can't be read, in which case opening /proc/PID
		 * will fail.
		 */
		return 0;
	snprintf(number, sizeof(number), "%d", s.tgid);
	return err_of("number of a process", number, -EINVAL,
		      "%d is a thread of process %d; give the number of the process", pid, s.tgid);
}

static int parent_of(pid_t tgid, pid_t *ret)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	struct proc_stat s;
	int r = proc_open(&p, tgid);

	if (!r)
		r = proc_stat_read(p.dirfd, &s);
	if (!r)
		*ret = s.parent;
	return r;
}

/*
 * Looks at all processes once, and adds those whose parent is in @in. *@ret_more: how many
 * processes were added.
 */
static int add_children(struct map *in, pid_vec *ret, size_t *ret_more)
{
	pid_vec all = {};
	struct map parents;
	bool again = true;
	pid_t parent;
	int r = proc_list(&all);

	map_init(&parents);
	vec_foreach(pid, &all)
		if (!r && !map_get(in, (uint64_t)*pid) && !parent_of(*pid, &parent))
			r = map_put(&parents, (uint64_t)*pid, (uint64_t)parent);
	/*
	 * A child may have a lower number than its parent: after the highest number, numbers begin
	 * again with the lowest free one.
	 */
	for (*ret_more = 0; again && !r;) {
		again = false;
		vec_foreach(pid, &all) {
			uint64_t *up = map_get(&parents, (uint64_t)*pid);

			if (r || !up || map_get(in, (uint64_t)*pid) || !map_get(in, *up))
				continue;
			r = map_put(in, (uint64_t)*pid, 1);
			r = r ? r : vec_push(ret, *pid);
			again = true;
			++*ret_more;
		}
	}
	map_fini(&parents);
	vec_fini(&all);
	return r;
}

int proc_tree(pid_t root, pid_vec *ret)
{
	struct map in;
	size_t more = 0;
	pid_t parent;
	int r = parent_of(root, &parent);

	if (r)
		return r;
	map_init(&in);
	ret->n = 0;
	r = map_put(&in, (uint64_t)root, 1);
	r = r ? r : vec_push(ret, root);
	/*
	 * All processes are looked at again until no new one is found. So in the last pass the
	 * children of every process in the list were looked for.
	 */
	for (int i = 0; i < 16 && !r && (i == 0 || more); i++)
		r = add_children(&in, ret, &more);
	map_fini(&in);
	return r;
}

int proc_asked(pid_t pid, bool alone, pid_vec *ret)
{
	int r = check_number(pid);

	if (r)
		return r;
	return alone ? vec_push(ret, pid) : proc_tree(pid, ret);
}

int proc_check_mount(void)
{
	char self[16] = "";

	if (readlink("/proc/self", self, sizeof(self) - 1) < 0)
		return err_set(-ENOENT,
			       "/proc isn't mounted here, or belongs to another pid namespace; "
			       "`mount -t proc proc /proc` mounts the right one");
	if (atoi(self) != getpid())
		return err_set(
			-EINVAL,
			"/proc is another pid namespace's, where processes have other numbers; "
			"`mount -t proc proc /proc` mounts the one of this namespace");
	return 0;
}
