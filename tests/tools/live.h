/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the interpreter of a running process without src/collect, for tools that examine a process.
 */
#ifndef TESTS_TOOLS_LIVE_H
#define TESTS_TOOLS_LIVE_H

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "python/find/image.h"

/*
 * Looks for an interpreter in each file that @pid has mapped. Sets *ret to what is known of the
 * first one found, with addresses in @pid. Returns false if no file has one.
 */
static bool live_find(int pid, struct py_image *ret)
{
	char path[64], line[4096], file[4096], real[4200];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		_cleanup_close_ int fd = -1;
		uint64_t start, offset;

		if (sscanf(line, "%" SCNx64 "-%*s %*s %" SCNx64 " %*s %*s %4000s", &start, &offset,
			   file) != 3 ||
		    offset || file[0] != '/')
			continue;
		snprintf(real, sizeof(real), "/proc/%d/root%s", pid, file);
		fd = open(real, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || py_image_read(fd, file, ret) != 1)
			continue;
		if (ret->unsupported[0])
			fprintf(stderr, "%s: %s\n", file, ret->unsupported);
		py_where_add_bias(&ret->where, ret->exec_fixed ? 0 : start);
		return true;
	}
	return false;
}

#endif
