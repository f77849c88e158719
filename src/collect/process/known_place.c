/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remembers the control groups and working directories that /proc showed lately for new processes,
 * by the kernel's numbers of them (struct proc_place). So for many new processes with the same
 * place, /proc is read only once a second. Opening and reading /proc/PID is a third of what a new
 * process costs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "collect/process/process.h"
#include "proc/files/answers.h"
#include "proc/files/files.h"
#include "proc/files/walk.h"

#define PLACES 16
/*
 * results from /proc that are older than this aren't used, because groups and directories can be
 * renamed
 */
#define KNOWN_NS NSEC_PER_SEC

struct known_place {
	struct proc_place at;
	uint64_t read_ns; /* when /proc said this, CLOCK_MONOTONIC; 0: this entry is free */
	/*
	 * processes with the control groups and directory of .at get these texts in the members of
	 * struct process that have the same names
	 */
	char *cgroup, *container, *directory;
};

struct known_places {
	struct known_place list[PLACES];
	size_t next; /* index of the entry that is replaced next */
};

bool known_place_init(struct collect *c)
{
	return (c->processes->known = calloc(1, sizeof(*c->processes->known)));
}

static void forget(struct known_place *k)
{
	free(k->cgroup);
	free(k->container);
	free(k->directory);
	*k = (struct known_place){};
}

void known_place_fini(struct collect *c)
{
	for (size_t i = 0; c->processes->known && i < PLACES; i++)
		forget(&c->processes->known->list[i]);
	free(c->processes->known);
}

static const struct known_place *find(const struct known_places *all, const struct proc_place *at,
				      uint64_t time_ns)
{
	for (const struct known_place *k = all->list; k < all->list + PLACES; k++)
		if (k->read_ns && time_ns < k->read_ns + KNOWN_NS &&
		    !memcmp(&k->at, at, sizeof(*at)))
			return k;
	return NULL;
}

static void set(char **to, const char *from)
{
	free(*to);
	*to = strdup(from);
}

bool known_place_find(const struct collect *c, const struct proc_place *at, uint64_t time_ns,
		      struct process *p)
{
	const struct known_place *k = find(c->processes->known, at, time_ns);

	if (!k)
		return false;
	set(&p->cgroup, k->cgroup);
	set(&p->container, k->container);
	if (k->directory && !p->directory)
		set(&p->directory, k->directory);
	return p->cgroup && p->container && (p->directory || !k->directory);
}

void known_place_keep(struct collect *c, const struct proc_place *at, const struct process *p)
{
	struct known_places *all = c->processes->known;
	struct known_place *k = &all->list[all->next++ % PLACES];

	forget(k);
	set(&k->cgroup, p->cgroup);
	set(&k->container, p->container);
	if (p->directory)
		set(&k->directory, p->directory);
	if (!k->cgroup || !k->container || (p->directory && !k->directory))
		return;
	k->at = *at;
	k->read_ns = clock_ns(CLOCK_MONOTONIC);
}

/*
 * Is @fd the directory @dir (.mount isn't 0), whose numbers the kernel program read from a process
 * a moment ago? On btrfs the answer is always no, because .dev differs there, and two directories
 * may have the same numbers in the kernel.
 */
static bool is_dir(int fd, const struct place_dir *dir)
{
	struct statx x;

	return walk_mount(fd, &x) == dir->mount && x.stx_ino == dir->ino &&
	       file_dev(makedev(x.stx_dev_major, x.stx_dev_minor)) == dir->dev;
}

/*
 * The process may change its directory at any time. So the directory is opened first, and its
 * numbers and its path are both taken from the open directory. A directory isn't opened if its file
 * system may not answer.
 */
bool known_place_directory(const struct proc *proc, const struct place_dir *dir,
			   char path[static PATH_MAX], ssize_t *n)
{
	const struct file_place place = {.dev = dir->dev, .mount = dir->mount};
	_cleanup_close_ int fd = -1;
	char link[32];

	if (!answers_known(place))
		return false;
	fd = openat(proc->dirfd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !is_dir(fd, dir))
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	*n = readlink(link, path, PATH_MAX);
	return *n >= 0;
}
