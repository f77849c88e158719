/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes profiles for tests/golden/formats/pprof-check.py.
 * 	pprof make FILE     writes a profile, and prints its sums, computed here: "function FLAT
 * 			    CUM NAME", "line FLAT CUM NAME FILE:LINE", "label N KEY VALUE", "total N"
 * 	pprof native FILE   writes one sample with frames of all kinds
 * 	pprof unnamed FILE LIBRARY BUILD_ID START LIMIT OFFSET ADDRESS
 * 			    writes one sample whose frame has no name
 * 	pprof bulk FILE N   writes a profile of N samples, and prints "add NS_A_SAMPLE"
 * 	pprof copy FROM TO  reads the profile FROM, and writes it to TO
 * "bulk" and "copy" also print "samples N" and "memory PEAK_KIB".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/pprof/pprof.h"

enum { SAMPLES = 20000, DEPTH = 12, THREADS = 3 };
enum { BULK_STACKS = 5000, BULK_DEPTH = 30, BULK_LOCATIONS = 2000 };

/*
 * Names that cause trouble in other tools: angle brackets, templates, semicolons, blanks, other
 * scripts.
 */
static const struct {
	const char *name, *file, *mapping;
	enum frame_kind kind;
} functions[] = {
	{"<module>", "/srv/app/main.py", "[python 3.12]", KIND_PYTHON},
	{"<lambda>", "/srv/app/main.py", "[python 3.12]", KIND_PYTHON},
	{"outer.<locals>.inner", "/srv/app/main.py", "[python 3.12]", KIND_PYTHON},
	{"Größe.berechne", "/srv/app/größe.py", "[python 3.12]", KIND_PYTHON},
	{"名前", "/srv/app/with blank.py", "[python 3.12]", KIND_PYTHON},
	{"std::vector<int, std::allocator<int> >::push_back(int&&)", "", "/usr/lib/libx.so.1",
	 KIND_NATIVE},
	{"operator new(unsigned long)", "", "/usr/lib/libx.so.1", KIND_NATIVE},
	{"do_syscall_64", "", "[kernel]", KIND_KERNEL},
	{"[truncated]", "", "[krait]", KIND_MARK},
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

	m->values[0] = (struct profile_value_type){"samples", "count"};
	m->values[1] = (struct profile_value_type){"cpu", "nanoseconds"};
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
		struct profile_mapping m = {.name = profile_string(p, functions[i].mapping),
					    .kind = functions[i].kind};
		struct profile_function f = {.name = profile_string(p, functions[i].name),
					     .file = profile_string(p, functions[i].file)};
		struct profile_location l = {.mapping = profile_mapping(p, &m),
					     .function = profile_function(p, &f)};

		for (unsigned j = 0; j < LINES; j++) {
			l.line = *functions[i].file ? (int32_t)(10 * i + j + 1) : 0;
			l.address = functions[i].kind == KIND_PYTHON ? 0 : 0x1000 * i + 16 * j + 1;
			location[i][j] = profile_location(p, &l);
		}
	}
}

/* Makes a random stack. Adds @value to the sums in @t, for a sample of @thread. */
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
	int r = f ? pprof_write(p, f, PROFILE_TIMES_10MS) : err_sys(-errno, "%s", name);

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
		struct profile_label label = {profile_string(p, "thread"), 0};
		int64_t value = 1001001 + (int64_t)(next_random(&seed) % 1000);
		struct profile_sample s = {
			.stack = random_stack(p, location, &seed, &t, value),
			.time_ns = i * 1001001ll,
			.values = {1, value},
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

static uint32_t native_function(struct profile *p, const char *name, const char *symbol,
				const char *file)
{
	struct profile_function f = {.name = profile_string(p, name),
				     .system_name = profile_string(p, symbol),
				     .file = profile_string(p, file)};

	return profile_function(p, &f);
}

static uint32_t native_mapping(struct profile *p, const char *name, const char *build_id,
			       uint64_t start)
{
	struct profile_mapping m = {.name = profile_string(p, name),
				    .build_id = profile_string(p, build_id),
				    .kind = profile_kind(name),
				    .start = start,
				    .limit = start ? start + 0x8000 : 0,
				    .offset = start ? 0x2000 : 0};

	return profile_mapping(p, &m);
}

/*
 * Makes one sample for every kind of frame. pprof-check.py has the same samples, written by hand.
 */
static int native(const char *name)
{
	static const char *const others[] = {"[vdso]", "[jit]", "[gc]", "[krait]"};
	struct profile *p = profile_new();
	struct profile_location l = {.address = 0x3210};
	struct profile_sample s = {.time_ns = -1, .values = {1, 1001001}};
	uint32_t v[16];
	size_t n = 0;
	int r;

	fill_meta(p);
	v[n++] = profile_location(
		p,
		&(struct profile_location){.mapping = native_mapping(p, "[kernel]", "", 0),
					   .function = native_function(p, "do_syscall_64", "", ""),
					   .address = 0xffffffff81000010});
	l.mapping = native_mapping(p, "/usr/lib/libx.so.1", "0123456789abcdef", 0x3000);
	l.function = native_function(p, "x::outer", "_ZN1x5outerEv", "/src/x.cc");
	l.line = 30;
	l.outer = v[n + 1] = profile_location(p, &l);
	l.function = native_function(p, "inner", "inner", "/src/x.h");
	l.line = 20;
	v[n] = profile_location(p, &l);
	n += 2;
	l = (struct profile_location){
		.mapping = native_mapping(p, "/usr/lib/libstripped.so", "feedface", 0x3000),
		.address = 0x4567};
	v[n++] = profile_location(p, &l);
	l.address = 0x4600;
	l.function = native_function(p, "exported", "exported", "");
	v[n++] = profile_location(p, &l);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		v[n++] = profile_location(
			p,
			&(struct profile_location){.mapping = native_mapping(p, others[i], "", 0),
						   .function = native_function(p, "other", "", ""),
						   .address = i < 3 ? 0x7000 + i : 0});
	v[n++] = profile_location(p,
				  &(struct profile_location){
					  .mapping = native_mapping(p, "[python 3.12]", "", 0),
					  .function = native_function(p, "main", "", "/srv/app.py"),
					  .line = 3});
	s.stack = profile_stack(p, v, n);
	r = profile_add(p, &s) || write_file(p, name);
	profile_free(p);
	return r;
}

/*
 * Makes a sample whose frame has no name. argv: FILE LIBRARY BUILD_ID START LIMIT OFFSET ADDRESS.
 */
static int unnamed(char **argv)
{
	struct profile *p = profile_new();
	struct profile_mapping m = {.name = profile_string(p, argv[1]),
				    .build_id = profile_string(p, argv[2]),
				    .start = strtoull(argv[3], NULL, 0),
				    .limit = strtoull(argv[4], NULL, 0),
				    .offset = strtoull(argv[5], NULL, 0)};
	struct profile_location l = {.mapping = profile_mapping(p, &m),
				     .address = strtoull(argv[6], NULL, 0)};
	struct profile_sample s = {.time_ns = -1, .values = {1, 1001001}};
	uint32_t at = profile_location(p, &l);
	int r;

	fill_meta(p);
	s.stack = profile_stack(p, &at, 1);
	r = profile_add(p, &s) || write_file(p, argv[0]);
	profile_free(p);
	return r;
}

/*
 * Prints the peak of resident memory. (That of getrusage() would include the parent's memory before
 * exec.)
 */
static void print_memory(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	}
	printf("memory %ld\n", kib);
}

/*
 * Picks a stack at random: one of ten for half of the samples, one of 300 for most of the others.
 */
static uint32_t pick_stack(uint64_t *seed)
{
	uint64_t how = next_random(seed) % 10;

	return 1 + (uint32_t)(next_random(seed) % (how < 5 ? 10 : how < 9 ? 300 : BULK_STACKS));
}

static void fill_bulk(struct profile *p)
{
	uint32_t frames[BULK_DEPTH], location[BULK_LOCATIONS];
	struct profile_location l = {.function = 1};
	uint64_t seed = 5;

	l.mapping = profile_mapping(
		p, &(struct profile_mapping){.name = profile_string(p, "[python 3.12]"),
					     .kind = KIND_PYTHON});
	for (unsigned i = 0; i < BULK_LOCATIONS; i++) {
		char name[32];
		struct profile_function f = {.file = profile_string(p, "/srv/app/main.py")};

		snprintf(name, sizeof(name), "Class%u.method%u", i / 50, i / 5);
		f.name = profile_string(p, name);
		l.function = profile_function(p, &f);
		l.line = (int32_t)i;
		location[i] = profile_location(p, &l);
	}
	while (profile_n_stacks(p) < BULK_STACKS) {
		/* the outermost frames stay the same for a while, the innermost ones change */
		for (unsigned i = 0; i < BULK_DEPTH; i++) {
			if (i < 4 || next_random(&seed) % 16 == 0 || !profile_n_stacks(p))
				frames[i] = location[next_random(&seed) % BULK_LOCATIONS];
		}
		profile_stack(p, frames, BULK_DEPTH);
	}
}

static int bulk(const char *name, unsigned n)
{
	struct profile *p = profile_new();
	uint32_t labels[2];
	struct timespec begin, end;
	uint64_t seed = 9;
	int r = 0;

	fill_meta(p);
	fill_bulk(p);
	for (unsigned i = 0; i < 2; i++) {
		struct profile_label l[] = {
			{profile_string(p, "pid"), profile_string(p, "1234")},
			{profile_string(p, "process"), profile_string(p, "app.py")},
			{profile_string(p, "thread"), profile_string(p, i ? "MainThread" : "io")},
			{profile_string(p, "tid"), profile_string(p, i ? "1234" : "1235")},
		};

		labels[i] = profile_labels(p, l, ARRAY_SIZE(l));
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (unsigned i = 0; i < n && !r; i++) {
		struct profile_sample s = {
			.stack = pick_stack(&seed),
			.labels = labels[i % 2],
			.time_ns = i * 500000ll + (int64_t)(next_random(&seed) % 50000),
			.values = {1, 1001001},
		};

		r = profile_add(p, &s);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	printf("add %.1f\nsamples %llu\n",
	       ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
		       n,
	       (unsigned long long)profile_n_samples(p));
	r = r ? 1 : write_file(p, name);
	print_memory();
	profile_free(p);
	return r;
}

static int copy(const char *from, const char *to)
{
	_cleanup_close_ int fd = open(from, O_RDONLY | O_CLOEXEC);
	off_t n = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	void *bytes = n > 0 ? mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	struct profile *p;
	int r;

	if (bytes == MAP_FAILED || pprof_read(bytes, (size_t)n, &p)) {
		fprintf(stderr, "%s: %s\n", from,
			bytes == MAP_FAILED ? "can't be read" : err_msg());
		return 1;
	}
	munmap(bytes, (size_t)n);
	r = write_file(p, to);
	printf("samples %llu\n", (unsigned long long)profile_n_samples(p));
	print_memory();
	profile_free(p);
	return r;
}

int main(int argc, char **argv)
{
	if (argc == 3 && streq(argv[1], "make"))
		return make(argv[2]);
	if (argc == 3 && streq(argv[1], "native"))
		return native(argv[2]);
	if (argc == 9 && streq(argv[1], "unnamed"))
		return unnamed(argv + 2);
	if (argc == 4 && streq(argv[1], "bulk"))
		return bulk(argv[2], (unsigned)atoi(argv[3]));
	if (argc == 4 && streq(argv[1], "copy"))
		return copy(argv[2], argv[3]);
	fprintf(stderr, "usage: pprof make FILE | native FILE | unnamed ... | bulk FILE N | copy "
			"FROM TO\n");
	return 2;
}
