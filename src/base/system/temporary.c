/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes temporary files and directories; see temporary.h. */
#include "base/system/temporary.h"

#include <fcntl.h>
#include "base/cleanup.h"

/*
 * Opens a new file without a name in @dir; -1 on failure. O_TMPFILE leaves no name behind even if
 * krait is killed.
 */
static int file_in(const char *dir)
{
	_cleanup_free_ char *name = NULL;
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);

	/*
	 * some file systems lack O_TMPFILE; on these the file gets a name, which is removed at once
	 */
	if (fd >= 0)
		return fd;
	if (asprintf(&name, "%s/krait-XXXXXX", dir) < 0) {
		name = NULL;
		return -1;
	}
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

/*
 * Returns the i-th folder for temporary files. /var/tmp comes before /tmp, because /tmp is often in
 * memory.
 */
static const char *place(size_t i)
{
	const char *const dirs[] = {secure_getenv("TMPDIR") ?: "", "/var/tmp", "/tmp"};

	return i < ARRAY_SIZE(dirs) ? dirs[i] : NULL;
}

int temporary_file(void)
{
	int fd = -1;

	for (size_t i = 0; fd < 0 && place(i); i++)
		fd = *place(i) ? file_in(place(i)) : -1;
	return fd;
}

char *temporary_dir(void)
{
	for (size_t i = 0; place(i); i++) {
		char *name = NULL;

		if (!*place(i))
			continue;
		if (asprintf(&name, "%s/krait-XXXXXX", place(i)) < 0)
			return NULL;
		if (mkdtemp(name))
			return name;
		free(name);
	}
	return NULL;
}
