/* SPDX-License-Identifier: BSD-2-Clause */
/* A file without a name; see temporary.h. */
#include "base/temporary.h"

#include <fcntl.h>
#include "base/cleanup.h"

/*
 * /var/tmp before /tmp: the latter is memory on many machines (tmpfs since Debian 13). O_TMPFILE
 * leaves no name behind even if krait is killed; not every file system has it.
 */
int temporary_file(void)
{
	const char *const dirs[] = {secure_getenv("TMPDIR"), "/var/tmp", "/tmp"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		_cleanup_free_ char *name = NULL;
		int fd;

		if (!dirs[i] || !*dirs[i])
			continue;
		fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
		if (fd >= 0)
			return fd;
		if (asprintf(&name, "%s/krait-XXXXXX", dirs[i]) < 0) {
			name = NULL;
			return -1;
		}
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0) {
			unlink(name);
			return fd;
		}
	}
	return -1;
}
