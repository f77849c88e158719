/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of kernel addresses: in lists written by hand, and in this kernel's own list, where each
 * line is looked up.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "symbol/kernel_names.h"

static const char list[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000000 T startup_64\n"
			   "ffffffff81000040 t __pfx_one\n"
			   "ffffffff81000050 t one.isra.0\n"
			   "ffffffff81000050 W one_weak\n"
			   "ffffffff81000060 T two\n"
			   "ffffffff81100000 t __pfx_gone\n"
			   "ffffffff81100050 T three\n"
			   "ffffffff81200000 D _etext\n"
			   "ffffffff81200010 d data\n"
			   "garbage\n"
			   "ffffffff81000055\n"
			   "ffffffff81000056 t \n"
			   "ffffffff81000057 tt x\n"
			   "ffffffffc0001000 t beta\t[mod]\n"
			   "ffffffffc0000000 t alpha\t[mod]\n"
			   "ffffffffc0001080 t gamma\t[other]\n"
			   "ffffffffc0101080 r tail\t[other]\n"
			   "ffffffffc0200000 t tramp\t[__builtin__ftrace]\n"
			   "ffffffffc0300000 t bpf_prog_1234_main\t[bpf]\n"
			   "ffffffffc0500000 t bpf_prog_5678_main\t[bpf]\n"
			   "ffffffffc0600000 t cut\t[bpf]";

static void expect(const struct kernel_names *k, uint64_t at, const char *name, const char *module)
{
	const char *got_module = NULL, *got = kernel_names_find(k, at, &got_module);

	if (!name) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_string_equal(got, name);
	assert_string_equal(got_module, module);
}

/*
 * krait gives an address of the kernel itself relative to _stext (below _stext: to _text), even if
 * no symbol covers it. An address in a module or a BPF program is relative to its function's start.
 * Any other address gives 0.
 */
static void test_relative(void **state)
{
	static const char text[] = "ffffffff81000000 T _text\n"
				   "ffffffff81000200 T _stext\n"
				   "ffffffff81000200 T first\n"
				   "ffffffff81800000 D data\n"
				   "ffffffffc0000000 t alpha\t[mod]\n"
				   "ffffffffc0000100 t _stext\t[mod]\n";
	struct kernel_names *k;

	assert_int_equal(kernel_names_parse(text, strlen(text), &k), 0);
	assert_int_equal(kernel_names_relative(k, 0xffffffff81000234), 0x34);
	assert_int_equal(kernel_names_relative(k, 0xffffffff81800010), 0x7ffe10);
	assert_int_equal(kernel_names_relative(k, 0xffffffffc0000004), 4);
	assert_int_equal(kernel_names_relative(k, 0xffffffffc0000108), 8);
	assert_int_equal(kernel_names_relative(k, 0xffffffffc1000000), 0);
	/* below _stext, addresses are relative to _text */
	assert_int_equal(kernel_names_relative(k, 0xffffffff81000010), 0x10);
	assert_int_equal(kernel_names_relative(k, 0xffff888000000000), 0);
	kernel_names_free(k);
}

static void test_list(void **state)
{
	struct kernel_names *k;

	assert_int_equal(kernel_names_parse(list, strlen(list), &k), 0);
	expect(k, 0, NULL, NULL);
	expect(k, 0xffffffff80ffffff, NULL, NULL);
	expect(k, 0xffffffff81000000, "startup_64", "");
	expect(k, 0xffffffff8100003f, "startup_64", "");
	/* a function begins with the padding before it, because the padding may be executed */
	expect(k, 0xffffffff81000045, "one_weak", "");
	expect(k, 0xffffffff81000055, "one_weak", "");
	expect(k, 0xffffffff81000060, "two", "");
	expect(k, 0xffffffff810fffff, "two", "");
	expect(k, 0xffffffff81100010, NULL, NULL);
	expect(k, 0xffffffff811fffff, "three", "");
	expect(k, 0xffffffff81200000, NULL, NULL);
	expect(k, 0xffffffff81200018, NULL, NULL);
	expect(k, 0xffffffffc0000fff, "alpha", "mod");
	expect(k, 0xffffffffc0001000, "beta", "mod");
	/* a symbol covers all bytes up to the next symbol of the same module */
	expect(k, 0xffffffffc010107f, "gamma", "other");
	expect(k, 0xffffffffc0101080, NULL, NULL);
	expect(k, 0xffffffffc0200004, "tramp", "ftrace");
	expect(k, 0xffffffffc020ffff, "tramp", "ftrace");
	expect(k, 0xffffffffc0210000, NULL, NULL);
	expect(k, 0xffffffffc0300100, "bpf_prog_1234_main", "bpf");
	expect(k, 0xffffffffc0310000, NULL, NULL); /* no BPF program has this address */
	expect(k, 0xffffffffc0600000, NULL, NULL); /* the symbol's line was cut off */
	kernel_names_free(k);
	kernel_names_free(NULL);
}

static void test_cut_anywhere(void **state)
{
	for (size_t n = 0; n <= strlen(list); n++) {
		_cleanup_free_ char *copy = malloc(n + 1);
		struct kernel_names *k;

		memcpy(copy, list, n);
		assert_int_equal(kernel_names_parse(copy, n, &k), 0);
		expect(k, 0xffffffffffffffff, NULL, NULL);
		kernel_names_free(k);
	}
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_hidden(void **state)
{
	char path[] = "/tmp/krait-kallsyms-XXXXXX";
	struct kernel_names *k = NULL;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	write_file(path, "0000000000000000 T _text\n0000000000000000 t foo\t[mod]\n");
	assert_int_equal(kernel_names_open(fd, &k), -EPERM);
	assert_non_null(strstr(err_msg(), "kptr_restrict"));
	write_file(path, "ffffffff81000000 T one\nffffffff81000100 T end\n");
	assert_int_equal(kernel_names_open(fd, &k), 0);
	expect(k, 0xffffffff81000000, "one", "");
	kernel_names_free(k);
	write_file(path, "ffffffff81000000 T other\nffffffff81000100 T end\n");
	/* the second reading of the file begins at its start */
	assert_int_equal(kernel_names_open(fd, &k), 0);
	expect(k, 0xffffffff81000000, "other", "");
	kernel_names_free(k);
	unlink(path);
	close(fd);
	assert_int_equal(kernel_names_open(fd, &k), -EBADF);
}

/*
 * Looks up the address of each function in this kernel's own list. Nearly all must have the name
 * that the list gives, without "__pfx_". Of several names of one address krait gives only one.
 */
static void test_this_kernel(void **state)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	struct kernel_names *k;
	char line[1024], name[600], type;
	unsigned long long at;
	size_t n = 0, same = 0;

	if (!f || kernel_names_open(fileno(f), &k) < 0) {
		print_message("SKIP kernel-names-live: the kernel hides its addresses\n");
		return;
	}
	rewind(f);
	while (fgets(line, sizeof(line), f)) {
		const char *module, *got;

		if (sscanf(line, "%llx %c %599s", &at, &type, name) != 3 || !strchr("tTwW", type))
			continue;
		if (str_starts(name, "__pfx_"))
			memmove(name, name + 6, strlen(name + 6) + 1);
		got = kernel_names_find(k, at, &module);
		/* the module or BPF program was loaded or unloaded since krait read the list */
		if (!got)
			continue;
		n++;
		same += streq(got, name);
	}
	fclose(f);
	print_message("%zu of %zu by this very name\n", same, n);
	/* where the names differ, the address has several names (aliases) */
	assert_true(n > 1000 && same * 100 > n * 90);
	assert_true(kernel_names_bytes(k) < 64u << 20);
	kernel_names_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),	 cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_hidden),	 cmocka_unit_test(test_this_kernel),
		cmocka_unit_test(test_relative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
