/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was written to the agent's store is read back, whether its segment is sealed (its batches of
 * samples turned into blocks) or not. A file that isn't a store is left unchanged.
 */
#include "store_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/internal.h"

static void expect_samples(struct writer *w)
{
	struct profile *p = read_back(&all);
	const struct profile_meta *m = profile_meta(p);

	assert_same_samples(w->p, p);
	assert_int_equal(m->n_values, 3);
	assert_int_equal(m->period, 10101010);
	assert_string_equal(m->values[m->default_value].type, "cpu");
	assert_string_equal(m->period_type.unit, "nanoseconds");
	profile_free(p);
}

static void test_round_trip(void **state)
{
	struct writer w;

	begin(&w, 1);
	for (unsigned segment = 0; segment < 3; segment++) {
		for (unsigned frame = 0; frame < 4; frame++) {
			add_samples(&w, frame * 60);
			write_frame(&w);
			expect_samples(&w);
		}
		end_segment(&w);
		if (segment == 1)
			assert_int_equal(store_seal(w.s, w.place.segment - 1), 0);
		expect_samples(&w);
	}
	assert_int_equal(store_seal_rest(w.s), 0);
	expect_samples(&w);
	end(&w);
}

/* A function that is inlined into its caller is read back together with its caller. */
static void test_inlined(void **state)
{
	struct writer w;
	struct profile_sample s = {.values = {1, 5}};
	uint32_t frames[3];

	begin(&w, 1);
	struct profile_mapping m = {.name = profile_string(w.p, "/lib/x.so"), .kind = KIND_NATIVE};
	struct profile_function f = {.name = profile_string(w.p, "outer")};
	struct profile_location l = {.mapping = profile_mapping(w.p, &m),
				     .function = profile_function(w.p, &f),
				     .address = 0x77};

	frames[1] = l.outer = profile_location(w.p, &l);
	f.name = profile_string(w.p, "inner");
	l.function = profile_function(w.p, &f);
	frames[0] = profile_location(w.p, &l);
	frames[2] = random_location(w.p, &w.random);
	s.stack = profile_stack(w.p, frames, 3);
	add_sample(&w, &s);
	write_frame(&w);
	expect_samples(&w);
	end(&w);
}

/*
 * A thread gets a new name after its first samples were written. All its samples have the new name.
 */
static void test_renamed(void **state)
{
	struct writer w;
	struct profile_sample s;

	begin(&w, 1);
	struct profile_label l[] = {
		{profile_string(w.p, "pid"), profile_string(w.p, "7")},
		{profile_string(w.p, "thread"), profile_string(w.p, "python3")},
	};

	s = (struct profile_sample){.labels = profile_labels(w.p, l, 2), .values = {1, 1}};
	add_sample(&w, &s);
	write_frame(&w);
	assert_true(profile_relabel(w.p, s.labels, l[1].key, profile_string(w.p, "pool-1")));
	add_sample(&w, &s);
	write_frame(&w);
	expect_samples(&w);
	assert_int_equal(store_seal(w.s, w.place.segment), 0);
	expect_samples(&w);
	end(&w);
}

struct wanted {
	struct profile *from;
	struct lines *to;
	const struct store_query *q;
	const char *pid;
};

static int copy_wanted(void *arg, const struct profile_sample *s)
{
	struct wanted *x = arg;
	int64_t ms = BEGIN_MS + s->time_ns / (int64_t)NSEC_PER_MSEC;

	if (ms < x->q->since_ms || ms >= x->q->until_ms ||
	    !streq(profile_label_text(x->from, s->labels, "pid"), x->pid))
		return 0;
	return add_line(x->to, s);
}

static void test_query(void **state)
{
	struct profile_label_text pid = {"pid", 3, "2"};
	const struct store_query q = {BEGIN_MS + 20000, BEGIN_MS + 30000, &pid, 1};
	struct writer w;
	struct lines expected, got;
	struct profile *p;

	begin(&w, 3);
	add_samples(&w, 1200);
	write_frame(&w);
	p = read_back(&q);
	expected = (struct lines){.p = w.p};
	assert_int_equal(profile_each(w.p, copy_wanted, &(struct wanted){w.p, &expected, &q, "2"}),
			 0);
	qsort(expected.list.v, expected.list.n, sizeof(char *), by_text);
	got = lines_of(p);
	assert_true(got.list.n > 20);
	assert_int_equal(got.list.n, expected.list.n);
	for (size_t i = 0; i < got.list.n; i++)
		assert_string_equal(got.list.v[i], expected.list.v[i]);
	assert_true(profile_meta(p)->duration_ns <= 10 * (int64_t)NSEC_PER_SEC);
	lines_fini(&expected);
	lines_fini(&got);
	profile_free(p);
	end(&w);
}

/*
 * An agent died and left frames (batches of samples) that aren't sealed (turned into blocks). The
 * next agent seals them, and writes its own frames after them.
 */
static void test_next_agent(void **state)
{
	struct writer w;
	struct profile *p = NULL;
	uint64_t segment;

	begin(&w, 4);
	add_samples(&w, 100);
	write_frame(&w);
	segment = w.place.segment;
	store_close(w.s);
	w.s = open_store(getpid());
	assert_int_equal(store_seal_rest(w.s), 0);
	assert_int_equal(store_next_segment(w.s, &w.place.segment), 0);
	assert_int_equal(w.place.segment, segment + 1);
	w.place.sequence = 0;
	numbering_begin(&w.n);
	add_samples(&w, 100);
	write_frame(&w);
	expect_samples(&w);
	assert_int_equal(store_read(w.s, &all, &p), 0);
	assert_int_equal(profile_n_samples(p), 200);
	profile_free(p);
	end(&w);
}

static void test_two_writers(void **state)
{
	struct store *first = open_store(getpid()), *second = NULL;
	char pid[32];

	snprintf(pid, sizeof(pid), "process %d,", getpid());
	assert_int_equal(store_open(store_path(), 1234, &second), -EBUSY);
	assert_non_null(strstr(err_msg(), pid));
	store_close(first);
	store_close(open_store(getpid()));
}

/*
 * Flips a bit at byte @at of the newest blob of @table. That byte is part of a number, so the
 * number may become too large.
 */
static void flip(const char *table, size_t at)
{
	sqlite3 *db = open_database();
	sqlite3_blob *blob;
	sqlite3_stmt *stmt;
	uint8_t byte;
	int64_t id;
	char newest[64];

	snprintf(newest, sizeof(newest), "SELECT max(id) FROM %s", table);
	assert_int_equal(sqlite3_prepare_v2(db, newest, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	id = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	assert_int_equal(sqlite3_blob_open(db, "main", table, "body", id, 1, &blob), SQLITE_OK);
	at %= (size_t)sqlite3_blob_bytes(blob);
	assert_int_equal(sqlite3_blob_read(blob, &byte, 1, (int)at), SQLITE_OK);
	byte ^= (uint8_t)(1u << at % 8);
	assert_int_equal(sqlite3_blob_write(blob, &byte, 1, (int)at), SQLITE_OK);
	assert_int_equal(sqlite3_blob_close(blob), SQLITE_OK);
	sqlite3_close(db);
}

/*
 * Checks that krait notices a flipped bit. When the bit is flipped back, everything can be read
 * again.
 */
static void expect_found(const char *table, size_t at)
{
	struct store *s = open_store(0);
	struct profile *p = NULL;

	flip(table, at);
	assert_int_equal(store_read(s, &all, &p), -ENODATA);
	flip(table, at);
	store_close(s);
}

static void test_flipped(void **state)
{
	struct writer w;

	begin(&w, 5);
	add_samples(&w, 40);
	write_frame(&w);
	for (size_t at = 0; at < 1000; at += at < 48 ? 5 : 97)
		expect_found("frame", at);
	assert_int_equal(store_seal(w.s, w.place.segment), 0);
	for (size_t at = 0; at < 1000; at += at < 48 ? 5 : 97)
		expect_found("block", at);
	for (size_t at = 0; at < 1000; at += at < 48 ? 5 : 97)
		expect_found("names", at);
	expect_samples(&w);
	end(&w);
}

/*
 * If a frame (batch of samples) is damaged, its samples and those of later frames of its segment
 * are missing. All other samples are read.
 */
static void test_damaged_frame(void **state)
{
	struct writer w;
	struct profile *p;
	uint64_t before;

	begin(&w, 6);
	add_samples(&w, 100);
	write_frame(&w);
	end_segment(&w);
	add_samples(&w, 50);
	write_frame(&w);
	before = 150;
	for (int i = 0; i < 2; i++) {
		add_samples(&w, 10);
		write_frame(&w);
	}
	sql("UPDATE frame SET body = substr(body, 1, 100) WHERE id = (SELECT max(id) - 1 FROM "
	    "frame)");
	p = read_back(&all);
	assert_int_equal(profile_n_samples(p), before);
	assert_int_equal(profile_meta(p)->comments.n_warnings, 1);
	profile_free(p);
	assert_int_equal(store_seal_rest(w.s), 0);
	p = read_back(&all);
	assert_int_equal(profile_n_samples(p), before);
	profile_free(p);
	end(&w);
}

static void expect_refused(pid_t owner, int error, const char *words)
{
	struct store *s = NULL;

	assert_int_equal(store_open(store_path(), owner, &s), error);
	if (!strstr(err_msg(), words))
		print_message("%s\n", err_msg());
	assert_non_null(strstr(err_msg(), words));
}

/*
 * Checks that the file is refused for reading and for writing with @error and @words, and that none
 * of its bytes changes.
 */
static void expect_left_alone(int error, const char *words)
{
	run("cp %s/store.db %s/before", store_path(), dir);
	expect_refused(0, error, words);
	expect_refused(getpid(), error, words);
	run("cmp %s/store.db %s/before", store_path(), dir);
}

static void test_no_store(void **state)
{
	expect_refused(0, -ENOENT, "no agent has recorded into");
	run("mkdir %s/s", dir);
	run("head -c 5000 /dev/urandom >%s/s/store.db", dir);
	expect_left_alone(-EBADMSG, "isn't a store of krait's");
	run("rm -r %s/s; mkdir %s/s", dir, dir);
	sql("CREATE TABLE addresses (name TEXT)");
	expect_left_alone(-EBADMSG, "database of another program");
}

static void test_newer(void **state)
{
	store_close(open_store(getpid()));
	sql("PRAGMA journal_mode=DELETE");
	sql("PRAGMA user_version=77");
	expect_left_alone(-EPROTONOSUPPORT, "has format 77, of a newer krait");
}

static void test_other_tables(void **state)
{
	store_close(open_store(getpid()));
	sql("PRAGMA journal_mode=DELETE");
	sql("CREATE VIEW seen AS SELECT 1");
	expect_left_alone(-EBADMSG, "its tables aren");
}

static void test_cut_off(void **state)
{
	struct writer w;

	begin(&w, 7);
	add_samples(&w, 1000);
	write_frame(&w);
	end(&w);
	sql("PRAGMA journal_mode=DELETE");
	run("truncate -s 2000 %s/store.db", store_path());
	expect_left_alone(-EBADMSG, "");
}

/*
 * Opens the store as an ordinary user, because root may write anywhere. @make: the command that
 * makes the store's directory. Returns 0 if the error message contains @words.
 */
static int refused_to_nobody(const char *make, const char *words)
{
	pid_t child = fork();
	int status;

	if (!child) {
		struct store *s = NULL;

		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(3);
		run(make, store_path(), store_path());
		_exit(store_open(store_path(), 1, &s) == -EACCES && strstr(err_msg(), words) ? 0
											     : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void test_not_writable(void **state)
{
	run("chmod 777 %s", dir);
	assert_int_equal(refused_to_nobody("mkdir %s; chmod 555 %s", "can't write to"), 0);
	run("rm -rf %s; chmod 755 %s", store_path(), dir);
}

/*
 * A directory that another user can write to is refused, because that user could put a link there
 * that leads krait's writes elsewhere.
 */
static void test_others_directory(void **state)
{
	struct store *s = NULL;

	run("mkdir -m 777 %s", store_path());
	assert_int_equal(store_open(store_path(), 1, &s), -EACCES);
	assert_non_null(strstr(err_msg(), "others can write to"));
	run("chmod 755 %s", store_path());
	if (geteuid())
		return;
	run("chmod 755 %s", dir);
	assert_int_equal(refused_to_nobody("true", "belongs to another user"), 0);
}

/*
 * When the limit is reached, the oldest segments are removed. The store's files never exceed the
 * limit.
 */
static void test_limit(void **state)
{
	struct store_facts facts;
	struct writer w;
	/* the store's limit in bytes, of which 12 MiB are for SQLite's log */
	const uint64_t limit = ((12 << 20) + (512 << 10));

	begin(&w, 8);
	for (int i = 0; i < 20; i++) {
		add_samples(&w, 300);
		assert_int_equal(store_keep_to(w.s, limit), 0);
		write_frame(&w);
		numbering_begin(&w.n);
		assert_int_equal(store_seal(w.s, w.place.segment), 0);
		end_segment(&w);
		assert_int_equal(store_facts(w.s, &facts), 0);
		assert_true(facts.bytes <= limit);
	}
	assert_in_range(facts.segments, 2, 19);
	assert_int_equal(facts.writer, getpid());
	end(&w);
}

/*
 * If the disk is full, a frame (batch of samples) isn't written at all. When there is room again,
 * the store takes frames again.
 */
static void test_full(void **state)
{
	struct blob_place place;
	struct writer w;

	begin(&w, 10);
	add_samples(&w, 20);
	write_frame(&w);
	place = (struct blob_place){.segment = 7, .first_ms = BEGIN_MS, .last_ms = BEGIN_MS};
	_cleanup_free_ char *noise = malloc(1 << 20);

	for (size_t i = 0; i < 1 << 20; i++)
		noise[i] = (char)random_below(&w.random, 256);
	assert_int_equal(store_exec(w.s, "PRAGMA max_page_count=20", "limit"), 0);
	assert_int_equal(store_append(w.s, &place, noise, 1 << 20), -ENOSPC);
	assert_int_equal(store_exec(w.s, "PRAGMA max_page_count=100000", "limit"), 0);
	expect_samples(&w);
	add_samples(&w, 20);
	write_frame(&w);
	expect_samples(&w);
	end(&w);
}

static void test_facts(void **state)
{
	struct store_facts facts;
	struct writer w;

	begin(&w, 9);
	add_samples(&w, 30);
	write_frame(&w);
	end_segment(&w);
	assert_int_equal(store_seal_rest(w.s), 0);
	add_samples(&w, 12);
	write_frame(&w);
	assert_int_equal(store_facts(w.s, &facts), 0);
	assert_int_equal(facts.segments, 1);
	assert_int_equal(facts.frames, 1);
	assert_int_equal(facts.samples, 42);
	assert_int_equal(facts.figures[BATCH_SAMPLES], 42);
	assert_true(facts.first_ms >= BEGIN_MS && facts.last_ms < BEGIN_MS + 60000);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_round_trip, empty),
		cmocka_unit_test_setup(test_inlined, empty),
		cmocka_unit_test_setup(test_renamed, empty),
		cmocka_unit_test_setup(test_query, empty),
		cmocka_unit_test_setup(test_next_agent, empty),
		cmocka_unit_test_setup(test_two_writers, empty),
		cmocka_unit_test_setup(test_flipped, empty),
		cmocka_unit_test_setup(test_damaged_frame, empty),
		cmocka_unit_test_setup(test_no_store, empty),
		cmocka_unit_test_setup(test_newer, empty),
		cmocka_unit_test_setup(test_other_tables, empty),
		cmocka_unit_test_setup(test_cut_off, empty),
		cmocka_unit_test_setup(test_not_writable, empty),
		cmocka_unit_test_setup(test_others_directory, empty),
		cmocka_unit_test_setup(test_limit, empty),
		cmocka_unit_test_setup(test_full, empty),
		cmocka_unit_test_setup(test_facts, empty),
	};

	return run_in_directory(tests);
}
