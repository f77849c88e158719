/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cache of unwind rows on disk: stored rows are loaded unchanged. Rows that are damaged, that
 * belong to another user, or that were made from other bytes aren't loaded.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/cache.h"

#define ROWS UNWIND_CACHE_LEAST_ROWS

static char dir[64], path[256];
static struct unwind_cache *cache;
static struct unwind_cache_key key;

/*
 * A program installed by a distribution: root owns it, and it wasn't changed in the last two
 * seconds.
 */
#define PROGRAM "/bin/true"
static int program;
static struct elf_file *program_elf;

static void name_key(struct unwind_cache_key *k)
{
	static const uint8_t id[8] = {1, 2, 3, 4, 5, 6, 7, 0xab};

	memcpy(k->id, id, sizeof(id));
	k->n = sizeof(id);
	k->bytes = 99;
	k->owner = 5;
}

static int set_up(void **state)
{
	char template[] = "/tmp/krait-cache-XXXXXX";

	if (!mkdtemp(template))
		return -1;
	snprintf(dir, sizeof(dir), "%s/sub/krait", template);
	snprintf(path, sizeof(path), "%s/01020304050607ab-63-5.rows", dir);
	cache = unwind_cache_new(dir, geteuid(), getegid(), false);
	program = open(PROGRAM, O_RDONLY);
	if (!cache || program < 0 || elf_file_open(program, PROGRAM, &program_elf))
		return -1;
	key = unwind_cache_key_of(cache, program_elf, program);
	name_key(&key);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	unwind_cache_free(cache);
	elf_file_free(program_elf);
	close(program);
	*strrchr(dir, '/') = 0;
	*strrchr(dir, '/') = 0;
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

static void make_rows(struct unwind_rows *r, size_t n)
{
	*r = (struct unwind_rows){.base = 0x4000, .bad = 3, .why = "why not"};
	assert_int_equal(vec_push(&r->rules, (struct unwind_rule){}), 0);
	assert_int_equal(vec_push(&r->rules, (struct unwind_rule){UNWIND_REG, 7, 0, 0, 8, 0, -1,
								  UNWIND_SAME, UNWIND_SAME}),
			 0);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(vec_push(&r->rows, (struct unwind_row){16 * i, (i + 1) & 1}), 0);
		if (!(i & 1))
			assert_int_equal(
				vec_push(&r->fdes, (struct unwind_fde){16 * i, 16 * i + 16}), 0);
	}
}

/*
 * Stores unwind rows, as if they had been made from the first 1,000 bytes of @elf's code, and 8
 * bytes at another place.
 */
static void store(const struct unwind_cache_key *k, const struct unwind_rows *rows,
		  struct elf_file *elf, int fd)
{
	struct elf_reads reads;
	const struct elf_load *text = elf_file_text(elf);
	char bytes[1000];

	elf_reads_init(&reads);
	elf_file_note_reads(elf, &reads);
	assert_int_equal(elf_file_read(elf, text->vaddr, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(elf_file_read(elf, text->vaddr + 5000, bytes, 8), 8);
	elf_file_note_reads(elf, NULL);
	assert_int_equal(unwind_cache_store(cache, k, rows, &reads, fd), 0);
	elf_reads_fini(&reads);
}

static void keep(size_t n)
{
	_cleanup_unwind_rows_ struct unwind_rows rows;

	make_rows(&rows, n);
	store(&key, &rows, program_elf, program);
}

static bool comes_back(void)
{
	_cleanup_unwind_rows_ struct unwind_rows got, want = {};

	if (!unwind_cache_load(cache, &key, NULL, &got)) {
		assert_null(got.rows.v);
		assert_int_equal(got.rows.n + got.rules.n + got.fdes.n, 0);
		return false;
	}
	make_rows(&want, ROWS);
	assert_true(got.base == want.base && got.bad == want.bad && streq(got.why, want.why));
	assert_true(got.rows.n == want.rows.n && got.rules.n == want.rules.n &&
		    got.fdes.n == want.fdes.n);
	assert_memory_equal(got.rows.v, want.rows.v, want.rows.n * sizeof(*want.rows.v));
	assert_memory_equal(got.rules.v, want.rules.v, want.rules.n * sizeof(*want.rules.v));
	assert_memory_equal(got.fdes.v, want.fdes.v, want.fdes.n * sizeof(*want.fdes.v));
	return true;
}

static void test_round_trip(void **state)
{
	struct unwind_cache_key other = key;
	struct unwind_rows rows;
	struct stat st;

	assert_false(comes_back());
	keep(ROWS - 1); /* krait doesn't store so few unwind rows */
	assert_int_not_equal(stat(dir, &st), 0);
	keep(ROWS);
	assert_true(comes_back());
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	other.id[0]++;
	assert_false(unwind_cache_load(cache, &other, program_elf, &rows));
	other = key;
	other.bytes++;
	assert_false(unwind_cache_load(cache, &other, program_elf, &rows));
	other = key;
	/* each owner of files has unwind rows of its own, so another owner's aren't loaded */
	other.owner++;
	assert_false(unwind_cache_load(cache, &other, program_elf, &rows));
	other.n = 0; /* a key without a build id */
	assert_false(unwind_cache_load(cache, &other, program_elf, &rows));
}

/*
 * Changes each byte at the beginning of the cached file and some bytes further on, and cuts the
 * file off at the same places.
 */
static void test_damaged(void **state)
{
	int fd;
	struct stat st;

	keep(ROWS);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0 && !fstat(fd, &st));
	for (off_t at = 0; at < st.st_size; at += at < 400 ? 1 : 9973) {
		uint8_t byte, bad;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		for (int bit = 0; bit < 8; bit += 1 + 6 * (at > 400)) {
			bad = byte ^ 1 << bit;
			assert_int_equal(pwrite(fd, &bad, 1, at), 1);
			assert_false(comes_back());
		}
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_true(comes_back());
	assert_int_equal(ftruncate(fd, st.st_size + 1), 0);
	assert_false(comes_back());
	for (off_t n = st.st_size - 1; n >= 0; n -= n < 400 ? 1 : 9973) {
		assert_int_equal(ftruncate(fd, n), 0);
		assert_false(comes_back());
	}
	close(fd);
	keep(ROWS);
	assert_true(comes_back());
}

/*
 * A cached file is intact but has unwind rows that krait itself would never make: a rule that
 * doesn't exist, or functions that overlap. It is refused.
 */
static void test_nonsense(void **state)
{
	for (int what = 0; what < 8; what++) {
		_cleanup_unwind_rows_ struct unwind_rows rows, got;

		make_rows(&rows, ROWS);
		switch (what) {
		case 0:
			rows.rows.v[77].rule = 2;
			break;
		case 1:
			rows.rows.v[77].key = rows.rows.v[76].key;
			break;
		case 2:
			rows.fdes.v[5].end = rows.fdes.v[6].start + 1;
			break;
		case 3:
			rows.fdes.v[5].end = rows.fdes.v[5].start;
			break;
		case 4:
			rows.rules.v[0].off = 1;
			break;
		case 5:
			rows.rules.v[1].cfa = UNWIND_CLONE + 1;
			break;
		case 6:
			rows.rules.v[1].reg = 200;
			break;
		case 7:
			rows.base++;
			break;
		}
		store(&key, &rows, program_elf, program);
		assert_false(unwind_cache_load(cache, &key, NULL, &got));
	}
	keep(ROWS);
	assert_true(comes_back());
}

static void test_not_ours(void **state)
{
	char elsewhere[300];

	keep(ROWS);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", dir);
	assert_int_equal(chmod(path, 0620), 0);
	assert_false(comes_back());
	assert_int_equal(chmod(path, 0600), 0);
	assert_true(comes_back());
	assert_int_equal(rename(path, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, path), 0);
	assert_false(comes_back());
	keep(ROWS); /* the new file replaces the link itself, not the file that it leads to */
	assert_true(comes_back());
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(comes_back());
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(elsewhere, path), 0);
	assert_int_equal(chmod(dir, 0770), 0);
	assert_false(comes_back());
	assert_int_equal(chmod(dir, 0700), 0);
	assert_true(comes_back());
	if (geteuid() == 0 && !chown(path, 65534, 65534)) {
		assert_false(comes_back());
		assert_int_equal(chown(path, 0, 0), 0);
	}
}

/* Root stores unwind rows for another user, and makes that user the owner of the cached file. */
static void test_become(void **state)
{
	struct stat st;
	char *slash;

	if (geteuid() != 0)
		skip();
	slash = strchr(dir + 1, '/'); /* finds the directory below /tmp */
	slash = strchr(slash + 1, '/');
	*slash = 0;
	assert_int_equal(chown(dir, 65534, 65534), 0);
	*slash = '/';
	unwind_cache_free(cache);
	cache = unwind_cache_new(dir, 65534, 65534, true);
	keep(ROWS);
	assert_true(comes_back());
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(st.st_gid, 65534);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_false(comes_back());
}

static bool is_served(const struct unwind_cache_key *k, int fd)
{
	_cleanup_unwind_rows_ struct unwind_rows rows;
	_cleanup_elf_ struct elf_file *elf = NULL;

	assert_int_equal(elf_file_open(fd, "copy", &elf), 0);
	return unwind_cache_load(cache, k, elf, &rows);
}

static void flip(int fd, off_t at)
{
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

/*
 * If users other than root may change a file, krait checks the bytes from which the unwind rows
 * were made, and not only size and build id.
 */
static void test_bytes(void **state)
{
	_cleanup_unwind_rows_ struct unwind_rows rows;
	_cleanup_elf_ struct elf_file *elf = NULL;
	struct unwind_cache_key k;
	off_t text = (off_t)elf_file_text(program_elf)->offset;
	char copy[] = "/tmp/krait-copy-XXXXXX", block[4096];
	int fd = mkstemp(copy);
	ssize_t n;

	assert_true(fd >= 0);
	for (off_t at = 0; (n = pread(program, block, sizeof(block), at)) > 0; at += n)
		assert_int_equal(pwrite(fd, block, n, at), n);
	assert_int_equal(fchmod(fd, 0666), 0);
	assert_int_equal(elf_file_open(fd, copy, &elf), 0);
	k = unwind_cache_key_of(cache, elf, fd);
	name_key(&k);
	assert_int_equal(k.version.ino, 0);
	make_rows(&rows, ROWS);
	store(&k, &rows, elf, fd);
	assert_true(is_served(&k, fd));
	flip(fd, text + 999);
	assert_false(is_served(&k, fd));
	flip(fd, text + 999);
	assert_true(is_served(&k, fd));
	flip(fd, text + 5007);
	assert_false(is_served(&k, fd));
	flip(fd, text + 5007);
	flip(fd, 24); /* changes e_entry, in the ELF header */
	assert_false(is_served(&k, fd));
	flip(fd, 24);
	flip(fd, text + 3000); /* changes a byte from which no unwind rows were made */
	assert_true(is_served(&k, fd));
	/*
	 * If only root may change a file, krait uses the cached unwind rows without reading the
	 * file, as long as the file's last change is the one noted.
	 */
	k.version = key.version;
	assert_true(is_served(&k, fd));
	flip(fd, text + 999);
	/* the version is the noted one, so krait doesn't read the file */
	assert_true(is_served(&k, fd));
	k.version.ctime_ns++;
	assert_false(is_served(&k, fd));
	assert_int_equal(unlink(copy), 0);
	close(fd);
}

static void test_bounded(void **state)
{
	struct unwind_cache_key k = key;
	struct unwind_rows rows, got;
	struct stat st;

	make_rows(&rows, ROWS);
	for (k.id[0] = 1; k.id[0] <= 4; k.id[0]++) {
		store(&k, &rows, program_elf, program);
		usleep(20000); /* waits until the file system's clock has advanced */
	}
	k.id[0] = 1;
	/* loading number 1 counts as a use, so number 2 is the oldest now */
	assert_true(unwind_cache_load(cache, &k, NULL, &got));
	unwind_rows_fini(&got);
	assert_int_equal(stat(path, &st), 0);
	unwind_cache_trim(cache, 3 * st.st_size);
	for (k.id[0] = 1; k.id[0] <= 4; k.id[0]++) {
		assert_int_equal(unwind_cache_load(cache, &k, NULL, &got), k.id[0] != 2);
		unwind_rows_fini(&got);
	}
	unwind_rows_fini(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_ours, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_become, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bytes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bounded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
