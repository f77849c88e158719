/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feed [MILLIONS]: gives the collector synthetic records: one process, 200 stacks of 20 frames,
 * then samples. After every 1,000 samples the collector names and counts them (a flush), as in
 * krait record. Prints how many records the collector takes in a second of CPU time, and the growth
 * of resident memory after the first fifth.
 */
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/collect.h"

#define STACKS	    200
#define FRAMES	    20
#define FLUSH_EVERY 1000

static const struct proc_key key = {.start_ns = 1, .tgid = 1, .exec_id = 1};
static struct py_layout the_layout = {.version = 0x030c, .walk = PY_WALK_CFRAME};

static const struct py_layout *layout(void *ctx, uint16_t index)
{
	return &the_layout;
}

/* No process is examined in this program, because the records say everything. */
static const struct collect_ops ops = {.layout = layout};

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + t.tv_nsec / 1e9;
}

static size_t resident(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	size_t pages = 0;

	return f && fscanf(f, "%*u %zu", &pages) == 1 ? pages * 4096 : 0;
}

static uint64_t code_of(unsigned stack, unsigned i)
{
	return 0x10000 + (uint64_t)(stack * FRAMES + i) * 512;
}

/*
 * The id of a stack is never 0. The kernel program's ids are hashes, so these ids are spread in the
 * same way.
 */
static uint64_t stack_of(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15;
}

/* Sends the record that says what the process is. Its samples wait for that record. */
static void send_proc(struct collect *c)
{
	struct rec_proc rec = {.type = REC_PROC, .state = PROC_PYTHON, .proc = key, .comm = "feed"};

	collect_record(c, &rec, sizeof(rec));
}

static void send_code(struct collect *c, uint64_t code)
{
	struct {
		struct rec_code head;
		char name[64];
	} rec = {.head = {.type = REC_CODE,
			  .firstlineno = 1,
			  .code = code,
			  .check = code | 1,
			  .proc = key,
			  .version = 1}};
	int n = snprintf(rec.name, sizeof(rec.name), "f%llx", (unsigned long long)code);

	for (unsigned i = CODE_FILENAME; i <= CODE_QUALNAME; i += CODE_QUALNAME)
		rec.head.text[i] = (struct wire_text){.addr = 1, .len = n, .kind = 1, .ascii = 1};
	rec.head.text[CODE_QUALNAME].bytes = n;
	collect_record(c, &rec, sizeof(rec.head) + (size_t)((n + 7) & ~7));
}

static void send_stack(struct collect *c, unsigned stack)
{
	struct {
		struct rec_stack head;
		struct wire_frame frame[FRAMES];
	} rec = {.head = {.type = REC_STACK, .n = FRAMES, .stack = stack_of(stack), .proc = key}};

	for (unsigned i = 0; i < FRAMES; i++) {
		uint64_t code = code_of(stack, i);

		send_code(c, code);
		rec.frame[i] = (struct wire_frame){code, code | 1, 0, i + 1 == FRAMES};
	}
	collect_record(c, &rec, sizeof(rec));
}

/*
 * Makes the collector name and count the samples (a flush). Returns false if that failed, or if
 * samples before the last FLUSH_EVERY samples aren't counted yet.
 */
static bool flush(struct collect *c, size_t sent)
{
	struct collect_stats st;

	if (collect_flush(c, false))
		return false;
	collect_stats(c, &st);
	if (st.samples + FLUSH_EVERY >= sent)
		return true;
	fprintf(stderr, "%llu of %zu samples came\n", (unsigned long long)st.samples, sent);
	return false;
}

static bool send_samples(struct collect *c, size_t from, size_t to)
{
	struct rec_sample rec = {.type = REC_SAMPLE, .tid = 1, .proc = key, .weight = 100000};

	for (size_t i = from; i < to; i++) {
		rec.time_ns = i * 100000;
		rec.runtime_ns = rec.time_ns;
		rec.stack = stack_of(i * 7 % STACKS);
		rec.tid = 1 + i % 4;
		collect_record(c, &rec, sizeof(rec));
		if (i % FLUSH_EVERY == 0 && !flush(c, i + 1))
			return false;
	}
	return flush(c, to);
}

int main(int argc, char **argv)
{
	size_t n = (argc > 1 ? strtoul(argv[1], NULL, 10) : 10) * 1000000, before, after;
	struct profile *p = profile_new();
	struct collect_config config = {.profile = p, .ops = &ops, .n_sources = 1};
	struct collect *c = p ? collect_new(&config) : NULL;
	struct collect_stats st;
	double begin;

	if (!c)
		return 1;
	profile_meta(p)->n_values = 2;
	send_proc(c);
	for (unsigned i = 0; i < STACKS; i++)
		send_stack(c, i);
	begin = cpu_seconds();
	if (!send_samples(c, 0, n / 5))
		return 1;
	before = resident();
	if (!send_samples(c, n / 5, n))
		return 1;
	begin = cpu_seconds() - begin;
	after = resident();
	collect_stats(c, &st);
	if (st.samples != n || st.broken_records || st.stacks != STACKS) {
		fprintf(stderr, "%llu samples, %llu broken, %zu stacks\n",
			(unsigned long long)st.samples, (unsigned long long)st.broken_records,
			st.stacks);
		return 1;
	}
	printf("records %zu\nrecords_per_second %.0f\ngrowth_bytes %zd\n", n, n / begin,
	       (ssize_t)(after - before));
	collect_free(c);
	profile_free(p);
	return 0;
}
