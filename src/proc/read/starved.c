/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells whether a process gets no CPU, by the state that /proc shows; see starved.h. */
#include "proc/read/starved.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/read/stat.h"

#define THREADS_MOST 64

static bool is_starved(int dir)
{
	struct proc_stat stat;

	return !proc_stat_read(dir, &stat) && strchr("RTt", stat.state);
}

static int open_dir(int at, const char *path)
{
	return openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool one_is_starved(DIR *tasks)
{
	struct dirent *e;
	bool found = false;

	for (int n = 0; !found && n < THREADS_MOST && (e = readdir(tasks)); n++) {
		_cleanup_close_ int dir =
			*e->d_name != '.' ? open_dir(dirfd(tasks), e->d_name) : -1;

		found = dir >= 0 && is_starved(dir);
	}
	return found;
}

bool proc_is_starved(pid_t pid, bool all)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	_cleanup_close_ int dir = -1;
	char path[40];

	snprintf(path, sizeof(path), all ? "/proc/%d/task" : "/proc/%d", pid);
	if (all) {
		tasks = opendir(path);
		return tasks && one_is_starved(tasks);
	}
	dir = open_dir(AT_FDCWD, path);
	return dir >= 0 && is_starved(dir);
}
