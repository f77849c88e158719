/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader that doesn't end its transaction prevents SQLite from emptying its log. Still, the
 * store's files exceed its limit by at most 16 MiB. What can't be written meanwhile is refused with
 * a reason. When the reader has ended, the store can be written again.
 */
#include "disk.h"
#include "store_writer.h"

#include "store/internal.h"

#define LIMIT STORE_LEAST_BYTES
/* by how many bytes the store's files may exceed its limit */
#define MOST_OVER   ((uint64_t)16 << 20)
#define FRAME_BYTES (128u << 10)
#define MOST_FRAMES 600 /* some 75 MiB */
#define REFUSED	    3

/*
 * Random bytes for the columns of a frame (batch of samples); compression doesn't make them
 * shorter.
 */
static uint8_t noise[FRAME_BYTES];

static uint64_t bytes_of(const char *name)
{
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", store_path(), name);
	return stat(path, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

static uint64_t all_bytes(void)
{
	return bytes_of("store.db") + bytes_of("store.db-wal") + bytes_of("store.db-shm");
}

/*
 * Does what an agent does in a second, with a segment for each frame (batch of samples). Returns
 * the result of the store's function.
 */
static int add_second(struct store *s, uint64_t segment)
{
	struct blob_place place = {.segment = segment, .first_ms = BEGIN_MS, .last_ms = BEGIN_MS};
	uint32_t random = (uint32_t)segment;
	int r = store_keep_to(s, LIMIT);

	for (size_t i = 0; i < sizeof(noise); i += sizeof(random)) {
		random = random * 1664525 + 1013904223;
		memcpy(noise + i, &random, sizeof(random));
	}
	return r ? r : store_append(s, &place, noise, sizeof(noise));
}

/* Writes frames (batches of samples) until the store reaches its limit. */
static uint64_t fill(struct store *s)
{
	uint64_t n = 0, most = 0;

	while (all_bytes() > most || n < LIMIT / FRAME_BYTES) {
		most = MAX(most, all_bytes());
		assert_int_equal(add_second(s, ++n), 0);
		assert_true(all_bytes() <= LIMIT);
	}
	return n;
}

static int64_t number(struct store *s, const char *sql)
{
	int64_t n;

	assert_int_equal(store_number(s, sql, &n), 0);
	return n;
}

/* Checks that the store's frames (batches of samples) end with number @last and have no gap. */
static void expect_frames(struct store *s, uint64_t last)
{
	int64_t n = number(s, "SELECT count(*) FROM frame");

	assert_true(n > 10);
	assert_int_equal(number(s, "SELECT max(id) FROM frame") >> STORE_SEQUENCE_BITS, last);
	assert_int_equal(number(s, "SELECT min(id) FROM frame") >> STORE_SEQUENCE_BITS,
			 (int64_t)last - n + 1);
}

static void test_long_reader(void **state)
{
	struct store *s = open_store(getpid()), *reader = open_store(0);
	uint64_t n = fill(s), most = 0;
	unsigned refused = 0;

	assert_int_equal(store_exec(reader, "BEGIN; SELECT count(*) FROM frame", "read"), 0);
	for (uint64_t stop = n + MOST_FRAMES; n < stop && refused < REFUSED;) {
		int r = add_second(s, n + 1);

		if (r)
			assert_int_equal(r, -ENOSPC);
		refused += r != 0;
		n += !r;
		most = MAX(most, all_bytes());
	}
	print_message("at most %.1f MiB of %.1f, %u frames refused: %s\n", (double)most / (1 << 20),
		      (double)LIMIT / (1 << 20), refused, err_msg());
	assert_true(most <= LIMIT + MOST_OVER);
	assert_int_equal(refused, REFUSED);
	assert_non_null(strstr(err_msg(), "another process has read the store"));
	store_close(reader);
	assert_int_equal(add_second(s, ++n), 0);
	expect_frames(s, n);
	assert_true(all_bytes() <= LIMIT);
	store_close(s);
}

/*
 * Frames (batches of samples) that can't be sealed (turned into blocks) while SQLite's log is full
 * are sealed later.
 */
static void test_seal_later(void **state)
{
	struct writer w;
	struct store *reader;
	uint64_t n;

	begin(&w, 1);
	add_samples(&w, 40);
	write_frame(&w);
	reader = open_store(0);
	assert_int_equal(store_exec(reader, "BEGIN; SELECT count(*) FROM frame", "read"), 0);
	for (n = 100; !add_second(w.s, n); n++)
		assert_true(n < MOST_FRAMES);
	assert_int_equal(store_seal(w.s, w.place.segment), -ENOSPC);
	store_close(reader);
	assert_int_equal(store_exec(w.s, "DELETE FROM frame WHERE last_ms = first_ms", "clear"), 0);
	assert_int_equal(store_seal_rest(w.s), 0);
	struct profile *p = read_back(&all);

	assert_same_samples(w.p, p);
	profile_free(p);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_long_reader, empty),
					   cmocka_unit_test_setup(test_seal_later, empty)};

	disk.quick = true;
	return run_in_directory(tests);
}
