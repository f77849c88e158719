/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * method_names FILE: reads lines "ADDRESS SYMBOL", and prints "ADDRESS SYMBOL NAME GLUE FOLDED" for
 * those whose function is in a method table of FILE. GLUE and FOLDED are 0 or 1: whether krait
 * takes NAME (GLUE) or SYMBOL (FOLDED) for one of the interpreter's own functions, which it hides.
 * The last line is "all N", the number of names. Used by tests/golden/symbols/method-names.py.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include "base/error.h"
#include "symbol/pytables/machinery.h"
#include "symbol/pytables/method_names.h"

int main(int argc, char **argv)
{
	_cleanup_close_ int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	_cleanup_elf_ struct elf_file *f = NULL;
	struct method_names *names;
	const char *found;
	char symbol[4096];
	uint64_t start;

	if (fd < 0 || elf_file_open(fd, argv[1], &f) || method_names_open(f, &names)) {
		fprintf(stderr, "%s: no names: %s\n", argv[argc > 1], err_msg());
		return 1;
	}
	while (scanf("%" SCNx64 " %4095s", &start, symbol) == 2) {
		found = method_names_find(names, start);
		if (found)
			printf("%" PRIx64 " %s %s %d %d\n", start, symbol, found,
			       machinery_is(found), machinery_is(symbol));
	}
	printf("all %zu\n", method_names_count(names));
	method_names_free(names);
	return 0;
}
