/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads PID: prints "TID NAME" for every Python thread of a running process. Used by tests/live.
 */
#include "python/heap/threads.h"
#include "live.h"

int main(int argc, char **argv)
{
	struct py_thread_names names = {};
	struct py_image image;
	int pid = argc > 1 ? atoi(argv[1]) : 0, r;

	if (!live_find(pid, &image)) {
		fprintf(stderr, "no interpreter in %d\n", pid);
		return 1;
	}
	r = py_thread_names(pid, &image.layout, &image.where, NULL, 0, &names);
	if (r)
		fprintf(stderr, "thread names of %d: %s\n", pid, strerror(-r));
	vec_foreach(t, &names.list)
		printf("%d %s\n", t->tid, t->name);
	py_thread_names_fini(&names);
	return r != 0;
}
