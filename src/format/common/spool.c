/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds text back in temporary files until other text is written; see spool.h. */
#include "format/common/spool.h"

#include <sys/mman.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/temporary.h"

FILE *spool_open(void)
{
	int fd = temporary_file();
	FILE *f;

	/* if no directory can be written to, the file is in memory */
	if (fd < 0)
		fd = memfd_create("krait", MFD_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!f) {
		int r = -errno;

		if (fd >= 0)
			close(fd);
		err_sys(r, "can't make a temporary file");
	}
	return f;
}

static int broken(int r)
{
	return err_sys(r ? -r : -EIO, "the temporary file for the output can't be used");
}

int spool_move(FILE *spool, FILE *out)
{
	char part[1 << 14];
	size_t n;

	errno = 0;
	if (fflush(spool) || ferror(spool))
		return broken(errno);
	rewind(spool);
	while ((n = fread(part, 1, sizeof(part), spool)) > 0)
		fwrite(part, 1, n, out);
	if (ferror(spool))
		return broken(errno);
	rewind(spool);
	return ftruncate(fileno(spool), 0) ? broken(errno) : 0;
}
