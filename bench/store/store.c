/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store DIR fill HOURS PROCESSES SERVICES CPUS BUSY: fills a store as an agent does, by a
 * simulated clock, and prints bytes per sample, the writer's CPU time and its memory.
 * store DIR ask SECONDS [SERVICE]: reads the last SECONDS of it, and prints how long that took:
 * first without the file in the page cache, and then five times.
 * store DIR stretch DAYS: copies the hours of the newest whole day to the days before it, each with
 * names of its own, and then sums hours up into days.
 * store DIR roll: makes the sums that a store of an older krait lacks.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/clock.h"
#include "load.h"
#include "store/internal.h"
#include "store/numbering.h"
#include "store/store.h"

#define BEGIN_MS 1700000000000ll
#define HZ	 99
#define WAITS	 1.3 /* number of samples of all kinds for each sample of CPU time */

static void must(int r)
{
	if (!r)
		return;
	fprintf(stderr, "%s\n", err_msg());
	exit(1);
}

/* After so many ms or samples the agent begins a new segment of the store (src/agent/agent.c). */
#define SEGMENT_MS	600000
#define SEGMENT_SAMPLES (128u << 10)
#define SEGMENT_BYTES	((size_t)24 << 20)

struct fill {
	struct store *store;
	struct load *load;
	struct profile *p;
	struct numbering n;
	struct blob_place place;
	uint64_t samples, segment_samples, nodes, frame_ns, seal_ns, roll_ns;
	uint64_t segments;
	int64_t segment_ms;
};

static uint64_t cpu(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void write_frame(struct fill *f, int64_t ms)
{
	_cleanup_str_ struct str columns = {};
	uint64_t began;

	f->place.last_ms = ms;
	must(numbering_end(&f->n, f->p));
	must(batch_encode(&f->n.batch, &columns));
	began = cpu();
	must(store_keep_to(f->store, 64ull << 30));
	must(store_append(f->store, &f->place, columns.s, columns.n));
	f->frame_ns += cpu() - began;
	batch_clear(&f->n.batch);
	f->place.sequence++;
	f->place.samples = 0;
	f->place.first_ms = ms;
}

static void end_segment(struct fill *f, int64_t ms)
{
	uint64_t began;

	f->nodes += profile_n_nodes(f->p);
	profile_free(f->p);
	f->p = profile_new();
	load_begin(f->load, f->p);
	numbering_begin(&f->n);
	began = cpu();
	must(store_seal(f->store, f->place.segment));
	f->seal_ns += cpu() - began;
	began = cpu();
	must(store_roll_up(f->store));
	f->roll_ns += cpu() - began;
	f->place.segment++;
	f->place.sequence = 0;
	f->place.first_ms = ms;
	f->segment_samples = 0;
	f->segment_ms = ms;
	f->segments++;
}

static void add(struct fill *f, int64_t ms)
{
	struct profile_sample s = load_sample(f->load, f->p);

	must(numbering_add(&f->n, f->p, &s, ms));
	f->place.samples++;
	f->samples++;
	f->segment_samples++;
}

static bool is_full(const struct fill *f, int64_t ms)
{
	return ms - f->segment_ms >= SEGMENT_MS || f->segment_samples >= SEGMENT_SAMPLES ||
	       profile_bytes(f->p) >= SEGMENT_BYTES;
}

static void print(const struct fill *f, double seconds)
{
	struct store_facts facts;
	struct rusage usage;

	must(store_facts(f->store, &facts));
	getrusage(RUSAGE_SELF, &usage);
	printf("%llu samples of %.0f s in %llu segments; nodes a sample %.2f\n",
	       (unsigned long long)f->samples, seconds, (unsigned long long)f->segments,
	       (double)f->nodes / (double)f->samples);
	printf("bytes a sample %.2f (files %.1f MiB, of which %.1f free)\n",
	       (double)(facts.bytes - facts.free_bytes) / (double)f->samples,
	       (double)facts.bytes / (1 << 20), (double)facts.free_bytes / (1 << 20));
	printf("writer: frames %.2f us a sample, seals %.2f, roll-ups %.2f; peak memory of all "
	       "%.1f MiB\n",
	       (double)f->frame_ns / 1e3 / (double)f->samples,
	       (double)f->seal_ns / 1e3 / (double)f->samples,
	       (double)f->roll_ns / 1e3 / (double)f->samples, (double)usage.ru_maxrss / 1024);
}

static int fill(const char *dir, char **o)
{
	struct load_options lo = {
		.processes = (unsigned)atoi(o[1]), .services = (unsigned)atoi(o[2]), .seed = 7};
	double rate = HZ * WAITS * atof(o[3]) * atof(o[4]), seconds = atof(o[0]) * 3600;
	struct fill f = {.load = load_new(&lo), .p = profile_new()};
	int64_t ms = BEGIN_MS;

	must(store_open(dir, getpid(), &f.store));
	must(store_exec(f.store, "PRAGMA synchronous=OFF", "set"));
	must(store_next_segment(f.store, &f.place.segment));
	f.place.first_ms = f.segment_ms = ms;
	load_begin(f.load, f.p);
	for (double done = 0; ms < BEGIN_MS + (int64_t)(seconds * 1000); ms += 1000) {
		for (done += rate; done >= 1; done--)
			add(&f, ms + (int64_t)(load_random(f.load) * 1000));
		write_frame(&f, ms + 1000);
		if (is_full(&f, ms + 1000))
			end_segment(&f, ms + 1000);
	}
	end_segment(&f, ms);
	print(&f, seconds);
	numbering_fini(&f.n);
	store_close(f.store);
	profile_free(f.p);
	load_free(f.load);
	return 0;
}

static void forget_file(const char *dir)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/" STORE_FILE, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fdatasync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		perror(path);
	close(fd);
}

static int ask(const char *dir, double seconds, const char *service)
{
	struct profile_label_text label = {"service", 7, service};
	struct store_query q = {.labels = &label,
				.n_labels = service != NULL,
				.outline = seconds > 10800 ? OUTLINE_SERVICES : OUTLINE_NONE};
	struct store *s = NULL;
	struct store_facts facts;

	must(store_open(dir, 0, &s));
	must(store_facts(s, &facts));
	store_close(s);
	q.until_ms = facts.last_ms + 1;
	q.since_ms = facts.last_ms - (int64_t)(seconds * 1000);
	forget_file(dir);
	for (int i = 0; i < 6; i++) {
		struct profile *p = NULL;
		uint64_t wall = clock_ns(CLOCK_MONOTONIC), used = cpu();

		must(store_open(dir, 0, &s));
		must(store_read(s, &q, &p));
		printf("%s%.1f ms (CPU %.1f), %llu samples, %zu nodes\n",
		       i ? "" : "cold: ", (double)(clock_ns(CLOCK_MONOTONIC) - wall) / 1e6,
		       (double)(cpu() - used) / 1e6, (unsigned long long)profile_n_samples(p),
		       profile_n_nodes(p));
		profile_free(p);
		store_close(s);
	}
	return 0;
}

/* Makes the samples of a block @shift ms older. @names: the names to which the samples refer. */
static void shift_samples(struct batch *names, struct str *columns, int64_t shift)
{
	struct batch to;

	must(batch_decode_block(names, columns->s, columns->n));
	vec_foreach(s, &names->samples)
		s->ms -= shift;
	to = *names;
	to.block = true;
	to.base[BATCH_STRINGS] = (uint32_t)names->strings.n;
	to.base[BATCH_MAPPINGS] = (uint32_t)names->mappings.n;
	to.base[BATCH_FUNCTIONS] = (uint32_t)names->functions.n;
	to.base[BATCH_LOCATIONS] = (uint32_t)names->locations.n;
	to.text.n = to.strings.n = to.mappings.n = to.functions.n = to.locations.n = 0;
	str_clear(columns);
	must(batch_encode(&to, columns));
}

/*
 * Copies a row and its blob, @shift ms earlier. @names: the names to which the row's samples refer;
 * NULL: the row has names instead of samples.
 */
static void copy_row(struct store *s, sqlite3_stmt *from, sqlite3_stmt *to, sqlite3_int64 id,
		     struct blob_place *place, int64_t shift, struct batch *names)
{
	_cleanup_str_ struct str columns = {}, blob = {};

	must(blob_unpack(NULL, sqlite3_column_blob(from, 4), (size_t)sqlite3_column_bytes(from, 4),
			 &columns));
	if (names)
		shift_samples(names, &columns, shift);
	place->first_ms = sqlite3_column_int64(from, 1) - shift;
	place->last_ms = sqlite3_column_int64(from, 2) - shift;
	place->samples = (uint32_t)sqlite3_column_int64(from, 3);
	must(blob_pack(place, columns.s, columns.n, BLOB_SMALL, &blob));
	store_bind_row(to, id, place, &blob);
	must(store_error(s, sqlite3_step(to), "write"));
	sqlite3_reset(to);
}

/*
 * Copies the names of epoch @from to epoch @epoch, @shift ms earlier. An epoch is a time in which
 * names keep their numbers.
 */
static void copy_names(struct store *s, int64_t from, int64_t epoch, int64_t shift)
{
	sqlite3_stmt *rows, *to;

	must(store_prepare(s, STORE_ROW " FROM names WHERE id >> 20 = ? ORDER BY id", &rows));
	must(store_prepare(s,
			   "INSERT INTO names (id, first_ms, last_ms, samples, body) "
			   "VALUES (?,?,?,?,?)",
			   &to));
	sqlite3_bind_int64(rows, 1, from);
	while (sqlite3_step(rows) == SQLITE_ROW) {
		uint32_t sequence = (uint32_t)(sqlite3_column_int64(rows, 0) & 0xfffff);
		struct blob_place place = {.segment = (uint64_t)epoch, .sequence = sequence};

		copy_row(s, rows, to, STORE_FRAME(epoch, sequence), &place, shift, NULL);
	}
	sqlite3_finalize(rows);
	sqlite3_finalize(to);
}

static void read_names(struct store *s, int64_t epoch, struct batch *ret)
{
	sqlite3_stmt *rows;
	struct store_row row;

	must(store_prepare(s, STORE_ROW " FROM names WHERE id >> 20 = ? ORDER BY id", &rows));
	sqlite3_bind_int64(rows, 1, epoch);
	for (uint32_t i = 0; sqlite3_step(rows) == SQLITE_ROW; i++) {
		store_take_row(rows, &row);
		row.place.segment = (uint64_t)epoch;
		row.place.sequence = i;
		must(store_add_row(ret, &row));
	}
	sqlite3_finalize(rows);
}

static void copy_hours(struct store *s, int64_t day, int64_t from, int64_t epoch, int64_t shift)
{
	__attribute__((cleanup(batch_fini))) struct batch names = {};
	sqlite3_stmt *rows, *to;

	read_names(s, from, &names);
	must(store_prepare(s,
			   STORE_ROW ", service FROM block WHERE tier = 2 AND first_ms >= ? AND "
				     "first_ms < ? AND epoch = ?",
			   &rows));
	must(store_prepare(s,
			   "INSERT INTO block (id, first_ms, last_ms, samples, body, tier, "
			   "service, epoch) VALUES (?,?,?,?,?,2,?,?)",
			   &to));
	sqlite3_bind_int64(rows, 1, day);
	sqlite3_bind_int64(rows, 2, day + STORE_DAY_MS);
	sqlite3_bind_int64(rows, 3, from);
	while (sqlite3_step(rows) == SQLITE_ROW) {
		const char *service = (const char *)sqlite3_column_text(rows, 5);
		sqlite3_int64 id =
			sqlite3_column_int64(rows, 0) -
			((sqlite3_int64)(shift / STORE_TEN_MINUTES_MS) << STORE_SEQUENCE_BITS);
		struct blob_place place = {.segment = (uint64_t)id,
					   .sequence = store_service_hash(service)};

		sqlite3_bind_text(to, 6, service, -1, SQLITE_TRANSIENT);
		sqlite3_bind_int64(to, 7, epoch);
		copy_row(s, rows, to, id, &place, shift, &names);
	}
	sqlite3_finalize(rows);
	sqlite3_finalize(to);
}

static int64_t number(struct store *s, const char *sql)
{
	int64_t n;

	must(store_number(s, sql, &n));
	return n;
}

/* Removes the hours before the day that is copied, because the copies take their place. */
static void remove_before(struct store *s, int64_t day)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "DELETE FROM block WHERE tier = 2 AND first_ms < %lld",
		 (long long)day);
	must(store_exec(s, sql, "remove"));
}

/* Makes blocks of sums until none is missing. @calls: after how many calls none is, at most. */
static void roll_up(struct store *s, int calls)
{
	for (int i = 0; i <= calls; i++) {
		uint64_t began = cpu();

		must(store_roll_up(s));
		printf("rolled up in %.0f ms\n", (double)(cpu() - began) / 1e6);
	}
}

static int roll(const char *dir)
{
	struct store *s = NULL;

	must(store_open(dir, getpid(), &s));
	must(store_exec(s, "PRAGMA synchronous=OFF", "set"));
	/* one call makes at most 12 trees of six hours */
	roll_up(s,
		(int)number(s, "SELECT count(DISTINCT first_ms) / 72 FROM block WHERE tier = 2"));
	store_close(s);
	return 0;
}

static int stretch(const char *dir, int days)
{
	struct store *s = NULL;
	int64_t day, epoch, first, last;

	must(store_open(dir, getpid(), &s));
	must(store_exec(s, "PRAGMA synchronous=OFF; BEGIN; DELETE FROM block WHERE tier = 3",
			"set"));
	day = number(s, "SELECT max(last_ms) + 1 FROM block WHERE tier = 2");
	day -= day % STORE_DAY_MS + STORE_DAY_MS;
	remove_before(s, day);
	first = number(s, "SELECT min(epoch) FROM block WHERE tier = 2");
	last = number(s, "SELECT max(epoch) FROM block WHERE tier = 2");
	for (int i = 1; i <= days; i++) {
		for (int64_t from = first; from <= last; from++) {
			epoch = number(s, "SELECT (max(id) >> 20) + 1 FROM names");
			copy_names(s, from, epoch, i * STORE_DAY_MS);
			copy_hours(s, day, from, epoch, i * STORE_DAY_MS);
		}
	}
	must(store_exec(s, "COMMIT", "set"));
	roll_up(s, days / 3);
	store_close(s);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && streq(argv[2], "stretch"))
		return stretch(argv[1], atoi(argv[3]));
	if (argc == 3 && streq(argv[2], "roll"))
		return roll(argv[1]);
	if (argc == 8 && streq(argv[2], "fill"))
		return fill(argv[1], argv + 3);
	if ((argc == 4 || argc == 5) && streq(argv[2], "ask"))
		return ask(argv[1], atof(argv[3]), argv[4]);
	fprintf(stderr, "usage: store DIR fill HOURS PROCESSES SERVICES CPUS BUSY | store DIR ask "
			"SECONDS [SERVICE] | store DIR stretch DAYS | store DIR roll\n");
	return 2;
}
