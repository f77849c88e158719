/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LD_PRELOADed into krait by alloc.py. The Nth allocation of the process fails
 * (KRAIT_ALLOC_FAIL=N), and with KRAIT_ALLOC_ALL each later allocation, too. At its end the process
 * writes how many allocations it asked for into the file KRAIT_ALLOC_COUNT. libc's own strdup(),
 * asprintf() and open_memstream() allocate through the functions that are replaced here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * glibc's own allocation functions, under names that glibc keeps for programs that replace the
 * usual ones
 */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static unsigned long count, fail_at;
static bool all;
static pid_t owner; /* allocations fail in this process, not in its forks */

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("KRAIT_ALLOC_FAIL");

	owner = getpid();
	all = getenv("KRAIT_ALLOC_ALL");
	__atomic_store_n(&count, 0, __ATOMIC_SEQ_CST);
	fail_at = at ? strtoul(at, NULL, 10) : 0;
	unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("KRAIT_ALLOC_COUNT");
	char text[32];
	int fd = path && getpid() == owner ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	int n = snprintf(text, sizeof(text), "%lu\n", count);

	if (fd >= 0) {
		(void)!write(fd, text, (size_t)n);
		close(fd);
	}
}

static bool fails(void)
{
	unsigned long n = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);

	if (!fail_at || (all ? n < fail_at : n != fail_at) || getpid() != owner)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t n)
{
	return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails() ? NULL : __libc_realloc(p, n);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}

void *memalign(size_t align, size_t n)
{
	return fails() ? NULL : __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

int posix_memalign(void **ret, size_t align, size_t n)
{
	void *p = memalign(align, n);

	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}
