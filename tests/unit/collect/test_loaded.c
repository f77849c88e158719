/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In which order the dynamic loader loaded the files of this program. The right order is that of
 * the C library's own list.
 */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "collect/interp/loaded.h"

#define FILES_MOST 64

struct files {
	uint64_t bias[FILES_MOST];
	size_t n;
};

static int add_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct files *f = arg;

	if (f->n < FILES_MOST)
		f->bias[f->n++] = info->dlpi_addr;
	return 0;
}

static void read_order(const struct files *f, uint32_t *order)
{
	_cleanup_proc_ struct proc self = PROC_INIT;

	assert_int_equal(proc_open(&self, getpid()), 0);
	loaded_order(&self, f->bias, f->n, order);
}

static void test_as_listed(void **state)
{
	uint32_t order[FILES_MOST];
	struct files f = {};

	assert_non_null(dlopen("libutil.so.1", RTLD_NOW));
	dl_iterate_phdr(add_file, &f);
	assert_true(f.n > 3);
	read_order(&f, order);
	for (size_t i = 0; i < f.n; i++)
		assert_int_equal(order[i], i);
}

/*
 * A file that dlmopen() loaded into another namespace counts as loaded after all others. A file
 * that wasn't loaded has no order.
 */
static void test_apart(void **state)
{
	struct link_map *apart;
	uint32_t order[FILES_MOST];
	struct files f = {};
	void *library = dlmopen(LM_ID_NEWLM, "libutil.so.1", RTLD_NOW);

	if (!library)
		skip();
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &apart), 0);
	dl_iterate_phdr(add_file, &f);
	f.n = MIN(f.n, (size_t)FILES_MOST - 2);
	f.bias[f.n++] = apart->l_addr;
	f.bias[f.n++] = 4096;
	read_order(&f, order);
	assert_int_equal(order[f.n - 2], f.n - 2);
	assert_int_equal(order[f.n - 1], LOADED_UNKNOWN);
}

/* If the loader's list is circular, krait gives no file an order. */
static void test_circle(void **state)
{
	struct link_map *first = dlopen(NULL, RTLD_NOW), *last = first;
	uint32_t order[FILES_MOST];
	struct files f = {};

	assert_non_null(first);
	while (last->l_next)
		last = last->l_next;
	dl_iterate_phdr(add_file, &f);
	last->l_next = first;
	read_order(&f, order);
	last->l_next = NULL;
	for (size_t i = 0; i < f.n; i++)
		assert_int_equal(order[i], LOADED_UNKNOWN);
	read_order(&f, order);
	assert_int_equal(order[1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_listed),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
