/* SPDX-License-Identifier: BSD-2-Clause */
/* Temporary name and rename; see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Not a regular file (or nothing there yet): what can't be replaced by renaming. */
static bool in_place(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

static int open_temporary(struct output *o)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&o->temporary, "%s.XXXXXX", o->path) < 0) {
		o->temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(o->temporary, O_CLOEXEC);
	if (fd < 0) {
		int r = -errno;

		free(TAKE_PTR(o->temporary));
		return r;
	}
	fchmod(fd, 0666 & ~mask);
	return fd;
}

int output_open(struct output *o, const char *path)
{
	int fd;

	*o = (struct output){};
	if (streq(path, "-")) {
		o->stream = stdout;
		return 0;
	}
	o->path = strdup(path);
	if (!o->path)
		return err_sys(-ENOMEM, "output");
	fd = in_place(path) ? open(path, O_WRONLY | O_TRUNC | O_CLOEXEC) : open_temporary(o);
	if (fd == -1)
		fd = -errno;
	if (fd < 0)
		return err_sys(fd, "can't write %s", path);
	o->stream = fdopen(fd, "w");
	if (!o->stream) {
		close(fd);
		return err_sys(-errno, "can't write %s", path);
	}
	return 0;
}

int output_commit(struct output *o)
{
	const char *name = o->path ? o->path : "standard output";
	FILE *stream = TAKE_PTR(o->stream);

	if (fflush(stream) || ferror(stream)) {
		int r = errno ? -errno : -EIO;

		if (stream != stdout)
			fclose(stream);
		return err_sys(r, "can't write %s", name);
	}
	if (stream == stdout)
		return 0;
	if (fclose(stream))
		return err_sys(-errno, "can't write %s", name);
	if (!o->temporary)
		return 0;
	if (rename(o->temporary, o->path))
		return err_sys(-errno, "can't rename %s to %s", o->temporary, o->path);
	free(TAKE_PTR(o->temporary));
	return 0;
}

void output_fini(struct output *o)
{
	if (o->stream && o->stream != stdout)
		fclose(o->stream);
	if (o->temporary)
		unlink(o->temporary);
	free(o->temporary);
	free(o->path);
	*o = (struct output){};
}
