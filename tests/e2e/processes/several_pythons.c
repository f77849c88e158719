// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program with several interpreters, each with a thread of its own. Arguments: how the libpythons
 * are loaded, "here" (by dlopen() without RTLD_GLOBAL) or "apart" (by dlmopen(), each with a C
 * library of its own); how many milliseconds pass between the starts of two interpreters; for each
 * interpreter its libpython, its prefix and its source text. Prints the threads' numbers, one on
 * each line.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t ready;
static int apart;

static void *find(void *library, const char *name)
{
	void *f = library ? dlsym(library, name) : NULL;

	if (f)
		return f;
	fprintf(stderr, "%s\n", dlerror());
	exit(1);
}

static void *run(void *arg)
{
	char **a = arg;
	void *library =
		apart ? dlmopen(LM_ID_NEWLM, a[0], RTLD_NOW) : dlopen(a[0], RTLD_NOW | RTLD_LOCAL);
	int (*set)(const char *, const char *, int) = find(library, "setenv");
	void (*initialise)(int) = find(library, "Py_InitializeEx");
	int (*execute)(const char *) = find(library, "PyRun_SimpleString");

	/* setenv() of the interpreter's C library, which may have an environment of its own */
	set("PYTHONHOME", a[1], 1);
	initialise(0);
	printf("%ld\n", syscall(SYS_gettid));
	fflush(stdout);
	pthread_barrier_wait(&ready);
	execute(a[2]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	apart = !strcmp(argv[1], "apart");
	pthread_barrier_init(&ready, NULL, 2);
	for (int i = 3; i + 3 <= argc; i += 3) {
		if (i > 3)
			usleep(atoi(argv[2]) * 1000u);
		pthread_create(&t, NULL, run, argv + i);
		pthread_barrier_wait(&ready);
	}
	pthread_join(t, NULL);
	return 0;
}
