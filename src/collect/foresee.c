/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that the command of `krait record --` will probably map: the libraries that its executable
 * needs, and files that the same executable mapped the last time. Their unwind tables are made
 * before the command runs (prepare.c), because without them the first stacks would break off. A
 * file that the command doesn't map after all only costs the work on its tables.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/far.h"
#include "base/system/log.h"
#include "collect/internal.h"
#include "unwind/file_list.h"
#include "proc/files/files.h"

/* The most files of one command. A Python with numpy, pandas and the like maps some 150. */
#define FILES_MOST  256
#define NEEDED_MOST 128 /* the most libraries that one file needs; libtorch needs 20 */

#ifdef __x86_64__
#define TRIPLET "x86_64-linux-gnu"
#else
#define TRIPLET "aarch64-linux-gnu"
#endif

/*
 * Directories in which dynamic loaders look for libraries by default. ldconfig's list has more
 * directories. Libraries in directories that only that list has are found when a process maps them.
 */
static const char *const library_dirs[] = {
	"/lib/" TRIPLET, "/usr/lib/" TRIPLET, "/lib64",		"/usr/lib64",
	"/lib",		 "/usr/lib",	      "/usr/local/lib",
};

/*
 * Tells whether mappings of file @fd show another device and inode than stat() does, as on btrfs
 * and overlayfs.
 */
static bool shows_other_numbers(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) &&
	       (fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC);
}

/*
 * Maps the file @fd, and reads from krait's own mappings which device and inode they show for it.
 */
static bool read_own_mapping(int fd, struct mapping *ret)
{
	const size_t bytes = 4096;
	void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	_cleanup_proc_ struct proc self = PROC_INIT;
	_cleanup_maps_ struct maps maps = {};
	const struct mapping *m = NULL;

	if (at == MAP_FAILED)
		return false;
	if (!proc_open(&self, getpid()) && !maps_read(self.dirfd, MAPS_FILE, &maps))
		m = maps_find(&maps, (uintptr_t)at);
	if (m)
		*ret = (struct mapping){.dev = m->dev, .ino = m->ino};
	munmap(at, bytes);
	return m;
}

/*
 * Sets *ret to the device and inode that mappings of @fd will show. False: @fd isn't a regular
 * file, or its file system may not answer or is served by a program (FUSE).
 */
static bool will_be_mapped(int fd, struct mapping *ret)
{
	struct statfs fs;
	struct stat st;

	if (far_is(fd) || fstat(fd, &st) || !S_ISREG(st.st_mode) || fstatfs(fd, &fs) ||
	    fs.f_type == FUSE_SUPER_MAGIC)
		return false;
	*ret = (struct mapping){.dev = file_dev(st.st_dev), .ino = st.st_ino};
	return !shows_other_numbers(fd) || read_own_mapping(fd, ret);
}

/* Returns the path that mappings show for the file @fd: without symbolic links. */
static char *real_path(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	return n > 0 && (size_t)n < sizeof(path) ? strndup(path, (size_t)n) : NULL;
}

static void add_file(struct collect *c, int fd, unsigned depth);

static int open_path(const char *path)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : file_open_below(root, path);
}

static bool add_path(struct collect *c, const char *path, unsigned depth)
{
	_cleanup_close_ int fd = open_path(path);

	if (fd >= 0)
		add_file(c, fd, depth);
	return fd >= 0;
}

/*
 * Looks for library @name in the directories @dirs ("$ORIGIN/../lib:/opt/lib"), where $ORIGIN is
 * the directory of @path. True: it was found and added.
 */
static bool add_from_runpath(struct collect *c, const char *dirs, const char *path,
			     const char *name, unsigned depth)
{
	int origin = (int)(path_base(path) - path);
	char full[PATH_MAX];

	for (size_t n; *dirs; dirs += n + (dirs[n] == ':')) {
		const char *dir = dirs;
		int used;

		n = strcspn(dirs, ":");
		if (str_starts(dir, "$ORIGIN"))
			used = snprintf(full, sizeof(full), "%.*s%.*s/%s", origin, path,
					(int)(n - strlen("$ORIGIN")), dir + strlen("$ORIGIN"),
					name);
		else
			used = snprintf(full, sizeof(full), "%.*s/%s", (int)n, dir, name);
		if (used > 0 && (size_t)used < sizeof(full) && add_path(c, full, depth))
			return true;
	}
	return false;
}

static void add_needed(struct collect *c, const char *runpath, const char *path, const char *name,
		       unsigned depth)
{
	char full[PATH_MAX];

	if (strchr(name, '/') || (runpath && add_from_runpath(c, runpath, path, name, depth)))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(library_dirs); i++) {
		snprintf(full, sizeof(full), "%s/%s", library_dirs[i], name);
		if (add_path(c, full, depth))
			return;
	}
}

/* how many levels of libraries are followed: a library may need libraries that need others */
#define DEPTH_MOST 4

static void add_libraries(struct collect *c, int fd, const char *path, unsigned depth)
{
	_cleanup_elf_ struct elf_file *elf = NULL;
	_cleanup_free_ char *runpath = NULL;
	struct elf_dynamic dynamic;
	const char *name;

	if (depth >= DEPTH_MOST || elf_file_open(fd, path, &elf))
		return;
	elf_file_dynamic(elf, &dynamic);
	if (dynamic.loader[0] == '/')
		add_path(c, dynamic.loader, DEPTH_MOST);
	name = elf_file_runpath(elf);
	runpath = name ? strdup(name) : NULL;
	for (size_t i = 0; i < NEEDED_MOST && (name = elf_file_needed(elf, i)); i++)
		add_needed(c, runpath, path, name, depth + 1);
}

static void add_file(struct collect *c, int fd, unsigned depth)
{
	_cleanup_free_ char *path = real_path(fd);
	struct mapping m;

	if (!path || c->natives->files.n >= FILES_MOST || !will_be_mapped(fd, &m) ||
	    !native_file_foresee(c, &m, fd, path))
		return;
	add_libraries(c, fd, path, depth);
}

/* Adds the vDSO, the kernel's own library, which every process has. */
static void add_vdso(struct collect *c)
{
	_cleanup_proc_ struct proc self = PROC_INIT;
	_cleanup_maps_ struct maps maps = {};
	uint32_t index;

	if (proc_open(&self, getpid()) || maps_read(self.dirfd, MAPS_EXEC, &maps))
		return;
	vec_foreach(m, &maps.list)
		if (streq(maps_path(&maps, m), "[vdso]"))
			(void)native_file_of(c, &self, m, "[vdso]", &index);
}

static void add_listed(void *arg, const char *path)
{
	_cleanup_close_ int fd = open_path(path);
	struct collect *c = arg;

	if (fd < 0)
		return;
	add_file(c, fd, DEPTH_MOST);
	if (teach_program(c, fd, path))
		log_info("can't prepare the kernel programs for %s before it runs: %s", path,
			 err_msg());
}

static void foresee_command(struct collect *c, int fd)
{
	_cleanup_free_ char *path = real_path(fd);

	if (!c->config.unwind || !path)
		return;
	add_vdso(c);
	add_file(c, fd, 0);
	c->command->path = TAKE_PTR(path);
	if (c->config.cache)
		file_list_read(c->config.cache, c->command->path, add_listed, c);
}

int collect_teach(struct collect *c, int fd, const char *path)
{
	int r = teach_own(c);

	if (r)
		return r;
	foresee_command(c, fd);
	return teach_program(c, fd, path);
}

/*
 * Saves a list of the files that were mapped by processes whose root directory is krait's. The next
 * recording of this command will probably need them.
 */
void foresee_remember(struct collect *c)
{
	VEC(const char *) paths = {};

	if (!c->command->path || !c->config.cache)
		return;
	vec_foreach(f, &c->natives->files)
		if ((*f)->met && (*f)->root < 0 && (*f)->loads.n && paths.n < FILES_MOST)
			(void)!vec_push(&paths, (*f)->path);
	if (paths.n && file_list_write(c->config.cache, c->command->path, paths.v, paths.n))
		log_info("can't save the list of files that %s mapped, which the next recording of "
			 "it would use: %s",
			 c->command->path, err_msg());
	vec_fini(&paths);
}
