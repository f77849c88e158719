/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines and inlined functions of libraries that gcc (and clang, if installed) has just compiled,
 * with any inlining that the compiler chose. At every address, krait's answer is compared with that
 * of binutils' addr2line, which has its own DWARF reader.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define MADE_DIR "/tmp/krait-lines-XXXXXX"
#include "made_files.h"

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/work/slice.h"
#include "elf/dwarf_file.h"
#include "symbol/elf/dwarf_lines.h"

static const char make_files[] =
	"set -e; exec 2>/dev/null; mkdir -p root/srv\n"
	"cat > part.h <<'END'\n"
	"static inline int twice(int x)\n{\n\tint y = x * 2;\n\tif (y > 100)\n\t\ty = other(y);\n"
	"\treturn y;\n}\n"
	"END\n"
	"cat > lib.c <<'END'\n"
	"extern int other(int);\n"
	"#include \"part.h\"\n"
	"static inline int four(int x)\n{\n\treturn twice(x) +\n\t\ttwice(x + 1);\n}\n"
	"int shown(int n)\n{\n\tint s = 0;\n\tfor (int i = 0; i < n; i++) {\n\t\ts += four(i);\n"
	"\t\ts ^= twice(s);\n\t}\n\treturn s;\n}\n"
	"__attribute__((cold)) int rare(int n)\n{\n\treturn other(n) ? four(n) : 7;\n}\n"
	"END\n"
	"cat > lib.cc <<'END'\n"
	"extern \"C\" int other(int);\n"
	"namespace space { struct S { int v; int add(int x) { return v += other(x); }\n"
	"\tint both(int k) { return add(k) +\n\t\tadd(k); } int out(int x); };\n"
	"int S::out(int x) { return both(x) * both(x + 1); } }\n"
	"END\n"
	"for v in 3 4 5; do\n"
	"  gcc -O2 -gdwarf-$v -shared -fPIC -Wl,--build-id -o c$v.so lib.c\n"
	"  ! g++ --version || g++ -O2 -gdwarf-$v -shared -fPIC -Wl,--build-id -o cc$v.so lib.cc\n"
	"  ! clang --version || clang -O2 -gdwarf-$v -shared -fPIC -Wl,--build-id -o cl$v.so "
	"lib.c\n"
	"done >/dev/null\n"
	"for u in a b; do seq 3000 | sed \"s/.*/int $u&(int n) { return n + &; }/\" > $u.c; done\n"
	"gcc -O0 -g -shared -fPIC -o two.so a.c b.c\n"
	"gcc -O2 -g -gz -shared -fPIC -o gz.so lib.c\n"
	"objcopy --only-keep-debug c5.so root/srv/c5.debug\n"
	"cd root/srv; objcopy --strip-all --add-gnu-debuglink=c5.debug ../../c5.so c5.so; cd "
	"../..\n"
	"nm -S --defined-only two.so | awk '$4 ~ /^[ab](1|3000)$/' | sort -k4 > two\n"
	"for l in c*.so gz.so; do nm -S --defined-only $l | awk '/ [tT] (shown|rare|.*out)/ {print "
	"$1, "
	"$2}' > $l.list;"
	"  test -s $l.list; done\n";

static int make_all(void **state)
{
	return make_dir(state, make_files, "SKIP dwarf-lines: no gcc, objcopy, nm\n");
}

static const char *base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "??";
}

/* Prints the calls at an address in the format of addr2line -f -i -s, without discriminators. */
static void print_calls(struct dwarf_file *d, uint64_t at, FILE *out)
{
	struct dwarf_call calls[16];
	size_t n = dwarf_file_find(d, at, calls, ARRAY_SIZE(calls));

	fprintf(out, "0x%016llx\n", (unsigned long long)at);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(calls[i].inlined, i + 1 < n);
		fprintf(out, "%s\n%s:", calls[i].function ? calls[i].function : "??",
			base(calls[i].file));
		fprintf(out, calls[i].line ? "%u\n" : "?\n", calls[i].line);
	}
}

/*
 * Looks up every address of the functions in NAME.list. krait's answers go to the file "got", which
 * must equal addr2line's answers in the file "truth".
 */
static void compare(const char *name, const char *truth)
{
	char list_name[64], got_path[PATH_MAX], script[256], line[256];
	_cleanup_close_ int fd = open_at(name, O_RDONLY), root = open_at("root", O_PATH);
	_cleanup_fclose_ FILE *list = NULL, *out = NULL;
	unsigned long long start, size;
	struct dwarf_file *d = NULL;

	if (fd < 0)
		return;
	snprintf(list_name, sizeof(list_name), "%s.list", truth);
	assert_int_equal(dwarf_lines_open(fd, str_starts(name, "root") ? name + 4 : name, root, &d),
			 0);
	list = fdopen(open_at(list_name, O_RDONLY), "r");
	snprintf(got_path, sizeof(got_path), "%s/got", dir);
	out = fopen(got_path, "w");
	assert_true(list && out);
	while (fgets(line, sizeof(line), list) && sscanf(line, "%llx %llx", &start, &size) == 2)
		for (unsigned long long at = start; at < start + size; at++)
			print_calls(d, at, out);
	fflush(out);
	dwarf_file_free(d);
	snprintf(script, sizeof(script),
		 "grep ^0x got | addr2line -a -f -i -s -e %s | sed 's/ (discr.*//' > truth;"
		 " test -s truth && diff got truth | head -n 20 && cmp -s got truth",
		 truth);
	assert_int_equal(run(script), 0);
}

static void test_lines(void **state)
{
	static const char *const forms[] = {"c%d.so", "cl%d.so"};
	char name[32];

	if (*state)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		for (int version = 3; version <= 5; version++) {
			snprintf(name, sizeof(name), forms[i], version);
			compare(name, name);
		}
	}
	/*
	 * Before DWARF 5, g++ writes empty ranges, which end a list of ranges; addr2line reads on
	 * after them.
	 */
	compare("cc5.so", "cc5.so");
	compare("gz.so", "gz.so");
}

static void test_separate(void **state)
{
	_cleanup_close_ int fd = -1;
	struct dwarf_file *d = NULL;

	if (*state)
		skip();
	compare("root/srv/c5.so", "c5.so");
	run("rm root/srv/c5.debug");
	fd = open_at("root/srv/c5.so", O_RDONLY);
	assert_int_equal(dwarf_lines_open(fd, "/srv/c5.so", -1, &d), -ENODATA);
	assert_null(d);
}

static uint64_t time_of(struct dwarf_file *d, const unsigned long long at[2])
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct dwarf_call call;

	for (int i = 0; i < 1000; i++)
		assert_int_equal(dwarf_file_find(d, at[i % 2], &call, 1), 1);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

/*
 * Look-ups that alternate between compilation units cost about as much as look-ups in one: units
 * aren't indexed again each time.
 */
static void test_units_by_turns(void **state)
{
	_cleanup_fclose_ FILE *list = NULL;
	_cleanup_close_ int fd = -1;
	unsigned long long at[4], one[2], both[2];
	struct dwarf_file *d = NULL;
	uint64_t same, turns;

	if (*state)
		skip();
	list = fdopen(open_at("two", O_RDONLY), "r"); /* functions a1, a3000, b1, b3000 */
	assert_non_null(list);
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		assert_int_equal(fscanf(list, "%llx %*s %*s %*s", &at[i]), 1);
	memcpy(one, at, sizeof(one));
	both[0] = at[1];
	both[1] = at[2];
	fd = open_at("two.so", O_RDONLY);
	assert_int_equal(dwarf_lines_open(fd, "two.so", -1, &d), 0);
	time_of(d, both);
	same = time_of(d, one);
	turns = time_of(d, both);
	if (turns > 20 * same)
		fail_msg("%llu us by turns, %llu in one unit", (unsigned long long)turns / 1000,
			 (unsigned long long)same / 1000);
	dwarf_file_free(d);
}

/* Bytes of the debug sections are changed one by one. At worst krait gives a wrong answer. */
static void test_changed(void **state)
{
	_cleanup_close_ int fd = -1;
	struct dwarf_call calls[4];
	char byte;

	if (*state)
		skip();
	run("objcopy --only-section=.debug_* --only-section=.text c5.so changed");
	fd = open_at("changed", O_RDWR);
	for (off_t at = 0x100; fd >= 0 && pread(fd, &byte, 1, at) == 1; at += 3) {
		char other = (char)(byte ^ (1 << at % 8));
		struct dwarf_file *d = NULL;

		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		if (dwarf_lines_open(fd, "changed", -1, &d) == 0) {
			for (uint64_t v = 0x1000; v < 0x1200; v += 16)
				dwarf_file_find(d, v, calls, ARRAY_SIZE(calls));
			dwarf_file_free(d);
		}
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
}

/*
 * Makes all compressed sections of @fd claim an unpacked size of @bytes. Returns how many
 * compressed sections there are.
 */
static unsigned claim(int fd, uint64_t bytes)
{
	unsigned n = 0;
	Elf64_Ehdr eh;
	Elf64_Shdr sh;

	assert_int_equal(pread(fd, &eh, sizeof(eh), 0), sizeof(eh));
	for (unsigned i = 0; i < eh.e_shnum; i++) {
		off_t at = (off_t)(eh.e_shoff + i * sizeof(sh));

		assert_int_equal(pread(fd, &sh, sizeof(sh), at), sizeof(sh));
		if (!(sh.sh_flags & SHF_COMPRESSED))
			continue;
		at = (off_t)(sh.sh_offset + offsetof(Elf64_Chdr, ch_size));
		assert_int_equal(pwrite(fd, &bytes, sizeof(bytes), at), sizeof(bytes));
		n++;
	}
	return n;
}

/*
 * The sizes that compressed sections claim for their unpacked data are added up, and limited before
 * anything is unpacked.
 */
static void test_packed(void **state)
{
	_cleanup_close_ int fd = -1;
	struct dwarf_file *d = NULL;
	struct slice slice;

	if (*state)
		skip();
	run("cp gz.so claims.so");
	fd = open_at("claims.so", O_RDWR);
	assert_in_range(claim(fd, 2ull << 30), 2, 20);
	assert_int_equal(dwarf_lines_open(fd, "claims.so", -1, &d), -EFBIG);
	claim(fd, DWARF_BYTES_MAX / 2 + 1);
	assert_int_equal(dwarf_lines_open(fd, "claims.so", -1, &d), -EFBIG);
	claim(fd, 9 << 20);
	slice_begin(&slice, UINT64_MAX);
	slice_limit_memory(&slice, 16 << 20);
	assert_int_equal(dwarf_lines_open(fd, "claims.so", -1, &d), -EFBIG);
	slice_end(&slice);
	assert_true(slice.cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	       cmocka_unit_test(test_separate),
		cmocka_unit_test(test_units_by_turns), cmocka_unit_test(test_changed),
		cmocka_unit_test(test_packed),
	};

	return cmocka_run_group_tests(tests, make_all, remove_all);
}
