/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * krait finds out from this process's C library where a thread keeps the values of its pthread
 * keys. The test sets such values with pthread_setspecific(), and reads them at the place found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "proc/files/files.h"
#include "proc/libc.h"

#define KEYS 40 /* more keys than the 32 whose values lie in struct pthread itself */

static void test_own_library(void **state)
{
	char *tp = __builtin_thread_pointer();
	int dir = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	const struct mapping *libc, *threads;
	struct libc_info info;
	struct maps m;
	enum libc_kind kind;
	pthread_key_t key;

	assert_int_equal(maps_read(dir, MAPS_EXEC, &m), 0);
	libc = libc_find(&m, &kind, &threads);
	assert_non_null(libc);
	assert_int_equal(kind, LIBC_GLIBC);
	libc = threads ? threads : libc;
	fd = file_open_mapping(dir, libc, maps_path(&m, libc), NULL);
	if (fd < 0)
		fail_msg("%s", err_msg());
	info = libc_read(fd, kind);
	close(fd);
	close(dir);
	maps_fini(&m);
	assert_int_equal(info.kind, LIBC_GLIBC);
	assert_true(info.learnt);
	assert_ptr_equal(tp + info.self_offset, (void *)pthread_self());
	for (uintptr_t i = 0; i < KEYS; i++) {
		char *block = tp + info.tsd_offset, *value;

		assert_int_equal(pthread_key_create(&key, NULL), 0);
		assert_int_equal(pthread_setspecific(key, (void *)(0x1234560000 + i)), 0);
		if (key >= 32)
			block = ((char **)(tp + info.tsd_offset + 512))[key / 32];
		memcpy(&value, block + 16 * (key % 32) + 8, sizeof(value));
		assert_ptr_equal(value, 0x1234560000 + i);
	}
	assert_true(key >= 32);
}

/*
 * Many wheels are linked with libpthread.so.0, which is empty since glibc 2.34. So krait must ask
 * the C library. If it asked libpthread, it would have to guess where thread data lie, and guess
 * wrong on arm64 (seen with glibc 2.36).
 */
static void test_empty_libpthread(void **state)
{
	void *library = dlopen("libpthread.so.0", RTLD_NOW);
	_cleanup_maps_ struct maps m = {};
	_cleanup_proc_ struct proc self = PROC_INIT;
	const struct mapping *threads;
	struct libc_info info;
	enum libc_kind kind;

	if (!library)
		skip();
	assert_int_equal(proc_open(&self, getpid()), 0);
	assert_int_equal(maps_read(self.dirfd, MAPS_EXEC, &m), 0);
	assert_non_null(libc_find(&m, &kind, &threads));
	assert_non_null(threads);
	assert_int_equal(libc_of_process(&self, &m, true, &info), 0);
	assert_true(info.learnt);
	dlclose(library);
}

static void find(const char *path, enum libc_kind want, bool threads)
{
	_cleanup_str_ struct str s = {};
	_cleanup_maps_ struct maps m = {};
	const struct mapping *t, *e;
	enum libc_kind kind;

	str_addf(&s,
		 "1000-2000 r-xp 00000000 fd:01 7 /usr/bin/python3\n"
		 "3000-4000 r-xp 00000000 fd:01 8 %s\n",
		 path);
	if (threads)
		str_add(&s, "5000-6000 r-xp 00000000 fd:01 9 /lib/libpthread-2.31.so\n");
	assert_int_equal(maps_parse(str_cstr(&s), s.n, MAPS_EXEC, &m), 0);
	e = libc_find(&m, &kind, &t);
	assert_int_equal(kind, want);
	assert_int_equal(e ? e->ino : 0, want == LIBC_NONE ? 0 : 8);
	assert_int_equal(t ? t->ino : 0, threads && want == LIBC_GLIBC ? 9 : 0);
}

static void test_names(void **state)
{
	find("/lib/x86_64-linux-gnu/libc.so.6", LIBC_GLIBC, false);
	find("/lib/x86_64-linux-gnu/libc-2.31.so", LIBC_GLIBC, true);
	find("/lib/ld-musl-x86_64.so.1", LIBC_MUSL, false);
	find("/lib/libc.musl-x86_64.so.1", LIBC_MUSL, false);
	find("/usr/lib/x86_64-linux-musl/libc.so", LIBC_MUSL, false);
	find("/usr/lib/libcrypt.so.1", LIBC_NONE, true);
	find("/usr/lib/libc-client.so.2007e", LIBC_NONE, false);
	find("/usr/lib/libc.so.6.bak", LIBC_NONE, false);
}

static void test_not_a_library(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct libc_info info = libc_read(fd, LIBC_GLIBC);

	assert_false(info.learnt);
	assert_int_equal(info.tsd_offset, libc_default(LIBC_GLIBC).tsd_offset);
	close(fd);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_false(libc_read(fd, LIBC_MUSL).learnt);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_library),
		cmocka_unit_test(test_empty_libpthread),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_not_a_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
