/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classes PID: reads lines "CODE SELF TYPE" (addresses in hexadecimal) on stdin, and prints for
 * each the name that krait would show for the code object. Used by tests/live/classes.sh.
 */
#include "python/code/code.h"
#include "live.h"

static int name_one(int pid, const struct py_layout *layout, uint64_t addr, uint64_t self,
		    uint64_t type)
{
	_cleanup_(cleanup_py_code) struct py_code *code = NULL;
	int r;

	r = py_code_from_process(pid, layout, addr, 0, &code);
	if (!r)
		r = py_code_qualify(code, pid, layout, self, type);
	if (r < 0)
		fprintf(stderr, "%" PRIx64 ": %s\n", addr, strerror(-r));
	printf("%s\n", code && code->name ? code->name : "?");
	return r < 0;
}

int main(int argc, char **argv)
{
	int pid = argc > 1 ? atoi(argv[1]) : 0, bad = 0;
	struct py_image image;
	uint64_t code, self, type;

	if (!live_find(pid, &image)) {
		fprintf(stderr, "no interpreter in %d\n", pid);
		return 1;
	}
	while (scanf("%" SCNx64 " %" SCNx64 " %" SCNx64, &code, &self, &type) == 3)
		bad |= name_one(pid, &image.layout, code, self, type);
	return bad;
}
