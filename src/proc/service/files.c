/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads small files of processes and of the machine; see files.h. */
#include "proc/service/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/far.h"
#include "proc/files/files.h"

static bool read_all(int fd, size_t max, struct str *ret)
{
	_cleanup_free_ char *bytes = fd >= 0 ? malloc(max) : NULL;
	size_t n = 0;
	ssize_t got = 1;

	str_clear(ret);
	for (; bytes && got > 0 && n < max; n += (size_t)MAX(got, (ssize_t)0))
		got = far_pread(fd, bytes + n, max - n, (off_t)n);
	if (!bytes || got < 0)
		return false;
	str_add_n(ret, bytes, n);
	return !ret->failed;
}

void service_files_init(struct service_files *f, int procdir)
{
	*f = (struct service_files){.root = -1};
	if (proc_owner_read(procdir, &f->owner))
		return;
	f->opener = opener_if_root(&f->owner);
	f->root = openat(procdir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void service_files_fini(struct service_files *f)
{
	if (f->root >= 0)
		close(f->root);
	proc_owner_fini(&f->owner);
}

bool service_file_of(const struct service_files *f, const char *path, size_t max, struct str *ret)
{
	_cleanup_close_ int fd =
		f->root < 0 ? -1 : file_open_as(&f->opener, FILE_LINKS, f->root, path);

	return read_all(fd, max, ret);
}

bool service_file_below(int root, const char *path, size_t max, struct str *ret)
{
	_cleanup_close_ int fd = root < 0 ? -1 : file_open_below(root, path);

	return read_all(fd, max, ret);
}
