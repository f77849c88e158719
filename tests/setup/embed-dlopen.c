/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that loads libpython late, by dlopen, as plug-in hosts do: at exec there is
 * nothing of Python in it, and Python's thread-local storage is not in the static TLS block.
 * The library's path is compiled in (LIBPYTHON).
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *lib = dlopen(LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
	int (*py_main)(int argc, char **argv);

	if (!lib || !(py_main = dlsym(lib, "Py_BytesMain"))) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return py_main(argc, argv);
}
