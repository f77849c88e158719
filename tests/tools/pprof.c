/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests/golden/pprof-check.py. `pprof make FILE` writes a profile and prints what it holds,
 * added up here: "function FLAT CUM NAME", "line FLAT CUM NAME FILE:LINE", "label N KEY VALUE" and
 * "total N". `pprof copy FROM TO` reads and writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/pprof.h"

enum { SAMPLES = 20000, DEPTH = 12, THREADS = 3 };

/* What other tools stumble over: angle brackets, templates, semicolons, blanks, other scripts. */
static const struct {
	const char *name, *file, *mapping;
	enum frame_kind kind;
} functions[] = {
	{ "<module>", "/srv/app/main.py", "[python 3.12]", KIND_PYTHON },
	{ "<lambda>", "/srv/app/main.py", "[python 3.12]", KIND_PYTHON },
	{ "outer.<locals>.inner", "/srv/app/main.py", "[python 3.12]", KIND_PYTHON },
	{ "Größe.berechne", "/srv/app/größe.py", "[python 3.12]", KIND_PYTHON },
	{ "名前", "/srv/app/with blank.py", "[python 3.12]", KIND_PYTHON },
	{ "std::vector<int, std::allocator<int> >::push_back(int&&)", "", "/usr/lib/libx.so.1",
	  KIND_NATIVE },
	{ "operator new(unsigned long)", "", "/usr/lib/libx.so.1", KIND_NATIVE },
	{ "do_syscall_64", "", "[kernel]", KIND_KERNEL },
	{ "[truncated]", "", "[krait]", KIND_MARK },
};

enum { N = ARRAY_SIZE(functions), LINES = 3 };

struct truth {
	int64_t flat[N][LINES], cum[N][LINES], function_cum[N], thread[THREADS], total;
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void fill_meta(struct profile *p)
{
	struct profile_meta *m = profile_meta(p);

	m->values[0] = (struct profile_value_type){ "samples", "count" };
	m->values[1] = (struct profile_value_type){ "cpu", "nanoseconds" };
	m->n_values = 2;
	m->default_value = 1;
	m->period_type = m->values[1];
	m->period = 1001001;
	m->time_ns = 1700000000000000000;
	m->duration_ns = SAMPLES * 1001001ll;
}

static void fill_locations(struct profile *p, uint32_t location[N][LINES])
{
	for (unsigned i = 0; i < N; i++) {
		struct profile_mapping m = { .name = profile_string(p, functions[i].mapping),
					     .kind = functions[i].kind };
		struct profile_function f = { .name = profile_string(p, functions[i].name),
					      .file = profile_string(p, functions[i].file) };
		struct profile_location l = { .mapping = profile_mapping(p, &m),
					      .function = profile_function(p, &f) };

		for (unsigned j = 0; j < LINES; j++) {
			l.line = *functions[i].file ? (int32_t)(10 * i + j + 1) : 0;
			l.address = functions[i].kind == KIND_PYTHON ? 0 : 0x1000 * i + 16 * j + 1;
			location[i][j] = profile_location(p, &l);
		}
	}
}

/* A random stack, added up in @t as the sample of @thread with @value. */
static uint32_t random_stack(struct profile *p, uint32_t location[N][LINES], uint64_t *seed,
			     struct truth *t, int64_t value)
{
	bool seen[N][LINES] = {}, seen_function[N] = {};
	uint32_t frames[DEPTH];
	size_t depth = 1 + next_random(seed) % DEPTH;

	for (size_t d = 0; d < depth; d++) {
		unsigned i = (unsigned)(next_random(seed) % N),
			 j = (unsigned)(next_random(seed) % LINES);

		frames[d] = location[i][j];
		t->flat[i][j] += d ? 0 : value;
		t->cum[i][j] += seen[i][j] ? 0 : value;
		t->function_cum[i] += seen_function[i] ? 0 : value;
		seen[i][j] = seen_function[i] = true;
	}
	return profile_stack(p, frames, depth);
}

static void print_truth(const struct truth *t)
{
	for (unsigned i = 0; i < N; i++) {
		int64_t flat = 0;

		for (unsigned j = 0; j < LINES; j++) {
			flat += t->flat[i][j];
			if (*functions[i].file)
				printf("line %lld %lld %s %s:%u\n", (long long)t->flat[i][j],
				       (long long)t->cum[i][j], functions[i].name,
				       functions[i].file, 10 * i + j + 1);
		}
		printf("function %lld %lld %s\n", (long long)flat, (long long)t->function_cum[i],
		       functions[i].name);
	}
	for (unsigned i = 0; i < THREADS; i++)
		printf("label %lld thread worker %u\n", (long long)t->thread[i], i);
	printf("total %lld\n", (long long)t->total);
}

static int write_file(struct profile *p, const char *name)
{
	_cleanup_fclose_ FILE *f = fopen(name, "w");
	int r = f ? pprof_write(p, f, PPROF_TIMES_10MS) : err_sys(-errno, "%s", name);

	if (r)
		fprintf(stderr, "%s\n", err_msg());
	return r ? 1 : 0;
}

static int make(const char *name)
{
	static struct truth t;
	uint32_t location[N][LINES];
	struct profile *p = profile_new();
	uint64_t seed = 1;
	int r = 0;

	fill_meta(p);
	fill_locations(p, location);
	for (unsigned i = 0; i < SAMPLES && !r; i++) {
		char thread[16];
		struct profile_label label = { profile_string(p, "thread"), 0 };
		int64_t value = 1001001 + (int64_t)(next_random(&seed) % 1000);
		struct profile_sample s = {
			.stack = random_stack(p, location, &seed, &t, value),
			.time_ns = i * 1001001ll,
			.values = { 1, value },
		};

		t.total += value;
		t.thread[i % THREADS] += value;
		snprintf(thread, sizeof(thread), "worker %u", i % THREADS);
		label.value = profile_string(p, thread);
		s.labels = profile_labels(p, &label, 1);
		r = profile_add(p, &s);
	}
	print_truth(&t);
	r = r ? 1 : write_file(p, name);
	profile_free(p);
	return r;
}

static int copy(const char *from, const char *to)
{
	static uint8_t bytes[16 << 20];
	_cleanup_fclose_ FILE *f = fopen(from, "r");
	struct profile *p;
	int r;

	if (!f || pprof_read(bytes, fread(bytes, 1, sizeof(bytes), f), &p)) {
		fprintf(stderr, "%s: %s\n", from, f ? err_msg() : "can't be opened");
		return 1;
	}
	r = write_file(p, to);
	profile_free(p);
	return r;
}

int main(int argc, char **argv)
{
	if (argc == 3 && streq(argv[1], "make"))
		return make(argv[2]);
	if (argc == 4 && streq(argv[1], "copy"))
		return copy(argv[2], argv[3]);
	fprintf(stderr, "usage: pprof make FILE | pprof copy FROM TO\n");
	return 2;
}
