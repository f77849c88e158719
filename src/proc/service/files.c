/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads small files of processes and of the machine; see files.h. */
#include "proc/service/files.h"

#include <stdlib.h>

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

bool service_file_of(int procdir, const char *path, size_t max, struct str *ret)
{
	_cleanup_close_ int fd = file_open_in_root(procdir, path);

	return read_all(fd, max, ret);
}

bool service_file_below(int root, const char *path, size_t max, struct str *ret)
{
	_cleanup_close_ int fd = root < 0 ? -1 : file_open_below(root, path);

	return read_all(fd, max, ret);
}
