/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the kernel programs about executables before they run, for the command of `krait record
 * --`: its process is sampled from the first instruction on, long before krait can read its
 * mappings.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/internal.h"
#include "proc/files/files.h"
#include "proc/libc.h"

/*
 * Sets *ret to the C library that a process of program @f will have: the program itself if it is
 * static, or krait's own C library if krait and the program have the same loader. -ENOENT: the C
 * library can't be known.
 */
static int coming_libc(const struct image_file *f, int fd, struct libc_info *ret)
{
	_cleanup_proc_ struct proc self = PROC_INIT;
	_cleanup_maps_ struct maps maps = {};
	_cleanup_elf_ struct elf_file *exe = NULL;
	_cleanup_close_ int own = -1;
	struct elf_dynamic dynamic;
	int r;

	if (!f->dynamic.linked) {
		*ret = libc_read(fd, LIBC_NONE);
		return ret->kind == LIBC_NONE ? -ENOENT : 0;
	}
	r = proc_open(&self, getpid());
	own = r ? r : file_open_exe(self.dirfd);
	r = own < 0 ? own : elf_file_open(own, "krait", &exe);
	if (r)
		return r;
	elf_file_dynamic(exe, &dynamic);
	if (!dynamic.loader[0] || !streq(dynamic.loader, f->dynamic.loader))
		return -ENOENT;
	r = maps_read(self.dirfd, MAPS_EXEC, &maps);
	return r ? r : libc_of_process(&self, &maps, true, ret);
}

/*
 * Describes krait's own executable to the kernel programs, because the command's process runs it
 * until its exec.
 */
int teach_own(struct collect *c)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct exe_entry e = {.kind = EXE_OTHER};
	struct exe_key key;

	if (fd < 0 || image_key(fd, &key))
		return 0;
	return c->config.ops->add_exe(c->config.ctx, &key, &e);
}

/*
 * Returns what file @fd holds, and the key by which the kernel programs know the file. NULL: user
 * space can't find out the key, or the file can't be read.
 */
static const struct image_file *image_now(struct collect *c, int fd, const char *path,
					  struct exe_key *key)
{
	const uint64_t *i;

	if (image_key(fd, key))
		return NULL;
	i = map_get(&c->images->index, file_key(key->dev, key->ino));
	return i ? c->images->files.v[*i - 1] : image_of_fd(c, fd, path, key);
}

/*
 * Returns the libpython that program @f is linked with, if it is among the files that the command
 * will probably map (foresee.c); NULL: it isn't, or krait doesn't support its version.
 */
static const struct image_file *linked_python(struct collect *c, int fd, const char *path)
{
	_cleanup_elf_ struct elf_file *elf = NULL;
	const struct image_file *lib;
	struct exe_key key;
	const char *name;

	if (elf_file_open(fd, path, &elf))
		return NULL;
	for (size_t i = 0; (name = elf_file_needed(elf, i)); i++) {
		if (!str_starts(name, "libpython"))
			continue;
		vec_foreach(f, &c->natives->files) {
			if ((*f)->fd < 0 || !streq(path_base((*f)->path), name))
				continue;
			lib = image_now(c, (*f)->fd, (*f)->path, &key);
			if (lib && lib->is_python && !lib->image.unsupported[0])
				return lib;
		}
	}
	return NULL;
}

/*
 * Describes program @f for the kernel programs. @f runs the interpreter in @python, which is @f
 * itself or the libpython of @f.
 */
static int describe(struct collect *c, const struct image_file *f, const struct image_file *python,
		    int fd, const char *path, struct exe_entry *ret)
{
	struct libc_info libc;
	int r = coming_libc(f, fd, &libc);

	if (r)
		return r;
	*ret = (struct exe_entry){
		.kind = EXE_PYTHON, .where = python->image.where, .start_vaddr = f->text_start};
	ret->where.own_program = image_runs_once(path);
	if (!ret->where.own_program)
		ret->where.codes_made = 0;
	libc_set_where(&ret->where, &libc);
	if (python != f) {
		ret->kind = EXE_LINKED;
		ret->debug_slot = f->dynamic.debug_slot;
		ret->lib_dynamic = python->dynamic.vaddr;
		ret->lib_check = python->dynamic.check;
	}
	return c->config.ops->add_layout(c->config.ctx, &python->image.layout, &ret->where.layout);
}

int teach_program(struct collect *c, int fd, const char *path)
{
	struct taught_program t;
	const struct image_file *f = image_now(c, fd, path, &t.key), *python = f;
	int r;

	if (f && !f->is_python)
		python = f->dynamic.needs_python && f->dynamic.debug_slot
				 ? linked_python(c, fd, path)
				 : NULL;
	if (!python || python->image.unsupported[0])
		return 0;
	t.version = python->image.layout.version;
	r = describe(c, f, python, fd, path, &t.entry);
	r = r ? r : vec_push(&c->command->programs, t);
	return r ? r : c->config.ops->add_exe(c->config.ctx, &t.key, &t.entry);
}
