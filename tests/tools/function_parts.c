/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * function_parts FILE: reads addresses of parts of functions on stdin (hexadecimal), and prints for
 * each the start of the whole function, or 0 if that can't be known.
 */
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "symbol/elf/function_parts.h"

int main(int argc, char **argv)
{
	_cleanup_close_ int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	struct function_parts *p = NULL;
	unsigned long long at;

	if (fd < 0 || elf_file_open(fd, argv[1], &f) || function_parts_open(f, &p)) {
		fprintf(stderr, "function_parts: %s\n", err_msg());
		return 1;
	}
	while (scanf("%llx", &at) == 1)
		printf("%llx\n", p ? (unsigned long long)function_parts_find(p, at) : 0);
	function_parts_free(p);
	return 0;
}
