/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of an executable before anybody runs it, for the command of `krait record --`: it
 * is sampled from its first instruction on, long before a look at its mappings could be taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/internal.h"
#include "proc/files.h"
#include "proc/libc.h"

/* The C library that @f will have: its own, or krait's if both have the same loader. */
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

/* krait's own executable, which the command's process runs until its exec. */
static int teach_own(struct collect *c)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct exe_entry e = {.kind = EXE_OTHER};
	struct exe_key key;

	if (fd < 0 || image_key(fd, &key))
		return 0;
	return c->config.ops->add_exe(c->config.ctx, &key, &e);
}

int collect_teach(struct collect *c, int fd, const char *path)
{
	struct exe_entry e = {.kind = EXE_PYTHON};
	struct exe_key key;
	struct libc_info libc;
	const struct image_file *f = image_of_fd(c, fd, path, &key);
	int r = teach_own(c);

	if (r || !f || !f->is_python || f->image.unsupported[0])
		return r;
	r = coming_libc(f, fd, &libc);
	if (r)
		return r;
	e.where = f->image.where;
	if (!image_runs_once(path))
		e.where.codes_made = 0;
	e.start_vaddr = f->text_start;
	libc_set_where(&e.where, &libc);
	r = c->config.ops->add_layout(c->config.ctx, &f->image.layout, &e.where.layout);
	return r ? r : c->config.ops->add_exe(c->config.ctx, &key, &e);
}
