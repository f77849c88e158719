/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The power fails at random moments while a store is made, written, sealed, read and shortened.
 * Whatever is on the disk after that (cut.h), each frame (batch of samples) whose writing was
 * acknowledged must be there, bit for bit. Of the call that was interrupted, all must be there or
 * nothing. If a flush is left out, or if SQLite runs in a weaker mode than krait's, the test must
 * notice the loss.
 */
#include "cut.h"
#include "recorded.h"

#include <ftw.h>

#define CUTS	   150 /* number of power cuts in each of the two tests */
#define FULL_TIMES 4
/* number of power cuts in tests that leave out a flush and must notice the loss */
#define CUTS_WRONG 20

/* A store as a power cut has left it. */
struct image {
	/* the store's states before and after the interrupted call */
	const struct ack *before, *after;
	/* number of the first frame (batch of samples) in the store, and how many it has */
	unsigned first, frames;
	uint64_t rows;
	const char *wrong; /* what is wrong with the store, or NULL */
};

static char image_dir[] = "/tmp/krait-cut-XXXXXX";

static const char *image_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/s", image_dir);
	return path;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level ? remove(path) : 0;
}

static void make_image(struct cut *c)
{
	assert_int_equal(nftw(image_dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
	cut_make(c, image_dir);
}

/*
 * Checks that the samples @got are those of whole frames (batches) of the store without a gap. Sets
 * in @i which frames these are. Returns what is wrong, or NULL.
 */
static const char *compare(struct image *i, const struct lines *got)
{
	size_t from, n = got->list.n;

	i->first = (unsigned)((strtoll(got->list.v[0], NULL, 10) - BEGIN_MS) / FRAME_MS);
	if (i->first >= FRAMES)
		return "a sample of no frame";
	from = rec.upto[i->first];
	for (i->frames = i->first; i->frames < FRAMES; i->frames++)
		if (rec.upto[i->frames] == from + n)
			break;
	if (rec.upto[i->frames] != from + n)
		return "a part of a frame";
	for (size_t k = 0; k < n; k++)
		if (!streq(got->list.v[k], rec.truth.list.v[from + k]))
			return "a sample that wasn't written";
	return NULL;
}

static const char *check_frames(struct image *i, struct store *s)
{
	struct profile *p = NULL;
	struct lines got;
	int r = store_read(s, &all, &p);

	i->first = i->frames = 0;
	if (r == -ENODATA)
		return i->before->frames ? "all frames are lost" : NULL;
	if (r)
		return err_msg();
	got = lines_of(p);
	i->wrong = compare(i, &got);
	lines_fini(&got);
	profile_free(p);
	if (i->wrong)
		return i->wrong;
	if (i->frames < i->before->frames)
		return "an acknowledged frame is lost";
	if (i->frames > i->after->frames)
		return "more than was written";
	return i->first < i->before->first  ? "what was removed is there again"
	       : i->first > i->after->first ? "a frame was removed"
					    : NULL;
}

/*
 * Tells whether the store equals one that a cut without losses would leave at some moment of the
 * interrupted call.
 */
static bool within_call(const struct image *i)
{
	for (size_t at = i->before->ops + 1; at <= i->after->ops; at++) {
		struct cut c = {.ops = at, .all_kept = true};
		struct store *s = NULL;
		uint64_t rows = 0;

		if (disk.ops.v[at - 1].kind != DISK_FLUSH)
			continue;
		make_image(&c);
		if (!store_open(image_path(), 0, &s))
			rows = hash_rows(s);
		store_close(s);
		if (rows == i->rows)
			return true;
	}
	return false;
}

static const char *check_reader(struct image *i)
{
	struct store *s = NULL;
	const char *wrong;
	int r = store_open(image_path(), 0, &s);

	i->rows = 0;
	if (r)
		return i->before->ops ? err_msg() : NULL;
	wrong = check_frames(i, s);
	i->rows = hash_rows(s);
	store_close(s);
	return wrong ? wrong : !i->rows ? "rows can't be read" : NULL;
}

static const char *go_on_in(struct image *i, struct store *s)
{
	struct blob_place place = {.samples = SAMPLES};
	struct profile *p = NULL;
	const char *wrong;

	if (store_seal_rest(s) || store_next_segment(s, &place.segment))
		return err_msg();
	wrong = check_frames(i, s);
	place.first_ms = place.last_ms = BEGIN_MS + FRAMES * FRAME_MS;
	if (store_append(s, &place, rec.spare.s, rec.spare.n) || store_read(s, &all, &p))
		return err_msg();
	if (profile_n_samples(p) != rec.upto[i->frames] - rec.upto[i->first] + SAMPLES && !wrong)
		wrong = "the next frame isn't there";
	profile_free(p);
	return wrong;
}

/*
 * Lets another agent open the store: it must find the same frames (batches of samples), seal them,
 * and add frames.
 */
static const char *check_agent(struct image *i)
{
	struct store *s = NULL;
	const char *wrong = store_open(image_path(), getpid(), &s) ? err_msg() : go_on_in(i, s);

	store_close(s);
	return wrong;
}

/* Finds the last state before recorded call @ops that was acknowledged, and the state after it. */
static void find_call(size_t ops, struct image *i)
{
	size_t n = count_upto(rec.acks.v, rec.acks.n, ops, ops);

	i->before = &rec.acks.v[n - 1];
	i->after = &rec.acks.v[MIN(n, rec.acks.n - 1)];
}

static const char *check_cut(struct cut *c)
{
	struct image i = {};
	const char *wrong;

	find_call(c->ops, &i);
	make_image(c);
	rec.warned = 0;
	wrong = random_below(&c->random, 2) ? check_reader(&i) : NULL;
	wrong = wrong ? wrong : check_agent(&i);
	if (!wrong && rec.warned)
		wrong = "a warning";
	if (!wrong && i.rows && i.rows != i.before->rows && i.rows != i.after->rows &&
	    !within_call(&i))
		wrong = "a row of a table isn't what was written";
	return wrong;
}

/*
 * Chooses a moment for a power cut. Half of the cuts come at the rare kinds of calls: a flush, a
 * new size, a name.
 */
static size_t when(uint32_t *random)
{
	size_t ops;

	do
		ops = 1 + random_below(random, (uint32_t)disk.ops.n);
	while (random_below(random, 2) && disk.ops.v[ops - 1].kind == DISK_WRITE);
	return ops;
}

/*
 * Makes @cuts power cuts. Returns after how many of them something is wrong. With @tell, prints for
 * the first five what is wrong.
 */
static unsigned cut_often(unsigned cuts, bool tell)
{
	uint32_t random = 7;
	unsigned wrong = 0;

	for (unsigned n = 0; n < cuts; n++) {
		struct cut c = {.ops = when(&random), .random = random};
		const char *what = check_cut(&c);

		if (what && tell && wrong < 5)
			print_message("cut %u after call %zu: %s\n", n, c.ops, what);
		wrong += what != NULL;
	}
	return wrong;
}

/*
 * Checks that all writes were recorded: a cut that loses nothing must give files equal to the real
 * ones.
 */
static void expect_all_recorded(void)
{
	struct cut c = {.ops = disk.ops.n, .all_kept = true};

	make_image(&c);
	run("cmp %s/store.db %s/store.db && cmp %s/store.db-wal %s/store.db-wal", store_path(),
	    image_path(), store_path(), image_path());
}

/* Returns how often SQLite has copied its log into the database (checkpoints). */
static unsigned checkpoints(void)
{
	int file = disk.names[disk_name("s/" STORE_FILE)].file;
	unsigned n = 0;

	vec_foreach(op, &disk.ops)
		n += op->kind == DISK_FLUSH && op->file == file;
	return n;
}

static void expect_right(const char *mode, unsigned cuts)
{
	const char *full = getenv("KRAIT_TEST_FULL");
	unsigned wrong;

	if (full && *full)
		cuts *= FULL_TIMES;
	record(mode, DISK_RIGHT);
	expect_all_recorded();
	wrong = cut_often(cuts, true);
	print_message("%u cuts of %zu calls, %u frames, %u checkpoints: %u wrong\n", cuts,
		      disk.ops.n, rec.written, checkpoints(), wrong);
	assert_int_equal(wrong, 0);
}

static void test_power_cut(void **state)
{
	expect_right(NULL, CUTS);
}

/*
 * With this setting, SQLite copies its log into the database far more often than in a real agent.
 */
static void test_checkpoints(void **state)
{
	expect_right("PRAGMA wal_autocheckpoint=30", CUTS);
	assert_true(checkpoints() > 10);
}

static int end_recording(void **state)
{
	forget();
	return 0;
}

static void expect_wrong(const char *what, const char *mode, enum disk_fault fault)
{
	unsigned wrong;

	record(mode, fault);
	wrong = cut_often(CUTS_WRONG, false);
	print_message("%s: %u of %d cuts wrong\n", what, wrong, CUTS_WRONG);
	assert_true(wrong);
}

static void test_mode_off(void **state)
{
	expect_wrong("synchronous=OFF", "PRAGMA synchronous=OFF", DISK_RIGHT);
}

static void test_mode_normal(void **state)
{
	expect_wrong("synchronous=NORMAL", "PRAGMA synchronous=NORMAL", DISK_RIGHT);
}

static void test_no_flush(void **state)
{
	expect_wrong("no flush", NULL, DISK_NO_FLUSH);
}

static void test_no_directory_flush(void **state)
{
	expect_wrong("no flush of directories", NULL, DISK_NO_DIRECTORY_FLUSH);
}

static void test_no_parent_flush(void **state)
{
	expect_wrong("no flush of the directory above", NULL, DISK_NO_PARENT_FLUSH);
}

int main(void)
{
	static const struct log_sink sink = {.say = count_warnings};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_power_cut, end_recording),
		cmocka_unit_test_teardown(test_checkpoints, end_recording),
		cmocka_unit_test_teardown(test_mode_off, end_recording),
		cmocka_unit_test_teardown(test_mode_normal, end_recording),
		cmocka_unit_test_teardown(test_no_flush, end_recording),
		cmocka_unit_test_teardown(test_no_directory_flush, end_recording),
		cmocka_unit_test_teardown(test_no_parent_flush, end_recording),
	};
	int r;

	log_set_sink(&sink);
	if (!mkdtemp(dir) || !mkdtemp(image_dir))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	run("rm -rf %s %s", dir, image_dir);
	return r;
}
