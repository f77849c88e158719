/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes samples for the store's measurements; see load.h. */
#include "load.h"

#include <math.h>
#include <stdlib.h>

#define CALLS	   7 /* from how many places a function calls other functions */
#define LINES	   9 /* how many lines a function has that call no other function */
#define MOST_DEEP  48
#define INNER	   4 /* how many frames at a stack's inner end differ much from stack to stack */
#define OUTER_SKEW 150
#define THREADS	   4
#define REASONS	   6
#define WAITS	   0.3 /* number of off-CPU samples for each sample of CPU time */

struct kind {
	const char *name;
	unsigned functions, deep;
	double skew;  /* how strongly the functions prefer the first of their calls */
	double waits; /* the share of the samples that are waits */
};

static const struct kind kinds[] = {
	{"web", 900, 25, 7.0, 0.25},
	{"idle", 150, 10, 9.0, 0.6},
	{"batch", 500, 16, 4.5, 0.1},
	{"symbols", 1500, 22, 2, 0.02},
};

/* The part of a function that depends only on its service. */
struct function {
	uint32_t calls[CALLS];
	uint32_t made[CALLS + LINES]; /* ids of locations in the profile; 0: not made yet */
};

struct service {
	const struct kind *kind;
	double upto;	   /* the sum of the shares of this service and of all services before it */
	unsigned first, n; /* its processes */
	struct function *functions;
};

struct load {
	struct load_options o;
	struct service *services;
	uint32_t *labels; /* ids of label sets, by process, thread and state; 0: not made yet */
	uint64_t random;
	uint32_t file, python, native, kernel; /* ids of strings and mappings in the profile */
};

static uint32_t next(struct load *l)
{
	l->random = l->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(l->random >> 33);
}

double load_random(struct load *l)
{
	return (double)next(l) / 2147483648.0;
}

static unsigned skewed(struct load *l, unsigned n, double skew)
{
	return (unsigned)(n * pow(load_random(l), skew));
}

static const struct kind *kind_of(unsigned service)
{
	static const uint8_t of[10] = {0, 2, 0, 1, 0, 3, 0, 2, 0, 1};

	return &kinds[of[service % 10]];
}

static void make_service(struct load *l, struct service *s, unsigned number)
{
	s->kind = kind_of(number);
	s->first = number * l->o.processes / l->o.services;
	s->n = (number + 1) * l->o.processes / l->o.services - s->first;
	s->functions = calloc(s->kind->functions, sizeof(*s->functions));
	for (unsigned i = 0; i < s->kind->functions; i++)
		for (unsigned k = 0; k < CALLS; k++)
			s->functions[i].calls[k] = next(l) % s->kind->functions;
}

struct load *load_new(const struct load_options *o)
{
	struct load *l = calloc(1, sizeof(*l));
	double sum = 0, upto = 0;

	l->o = *o;
	l->random = o->seed;
	l->services = calloc(o->services, sizeof(*l->services));
	l->labels = calloc((size_t)o->processes * THREADS * (REASONS + 3), sizeof(*l->labels));
	for (unsigned i = 0; i < o->services; i++)
		sum += 1.0 / (i + 1);
	for (unsigned i = 0; i < o->services; i++) {
		make_service(l, &l->services[i], i);
		upto += 1.0 / (i + 1) / sum;
		l->services[i].upto = upto;
	}
	return l;
}

void load_free(struct load *l)
{
	for (unsigned i = 0; i < l->o.services; i++)
		free(l->services[i].functions);
	free(l->services);
	free(l->labels);
	free(l);
}

static uint32_t make_mapping(struct profile *p, const char *name, bool is_file)
{
	return profile_mapping(
		p, &(struct profile_mapping){
			   .name = profile_string(p, name),
			   .build_id = is_file ? profile_string(p, "5b1f4a2c9d0e7788aabbccdd") : 0,
			   .kind = profile_kind(name),
			   .start = is_file ? 0x1000 : 0,
			   .limit = is_file ? 0x400000 : 0});
}

void load_begin(struct load *l, struct profile *p)
{
	struct profile_meta *m = profile_meta(p);

	m->values[0] = (struct profile_value_type){"samples", "count"};
	m->values[1] = (struct profile_value_type){"cpu", "nanoseconds"};
	m->values[2] = (struct profile_value_type){"off_cpu", "nanoseconds"};
	m->n_values = 3;
	m->default_value = 1;
	m->period_type = m->values[1];
	m->period = 10101010;
	l->python = make_mapping(p, "[python 3.11]", false);
	l->native = make_mapping(p, "/usr/lib/x86_64-linux-gnu/libc.so.6", true);
	l->kernel = make_mapping(p, "[kernel]", false);
	for (unsigned i = 0; i < l->o.services; i++)
		for (unsigned k = 0; k < l->services[i].kind->functions; k++)
			memset(l->services[i].functions[k].made, 0,
			       sizeof(l->services[i].functions[k].made));
	memset(l->labels, 0, (size_t)l->o.processes * THREADS * (REASONS + 3) * sizeof(*l->labels));
}

/*
 * Returns the location for line @at of function @f. Lines with calls come first, other lines after
 * them.
 */
static uint32_t location(struct load *l, struct profile *p, const struct service *s, uint32_t f,
			 unsigned at)
{
	uint32_t *made = &s->functions[f].made[at];
	unsigned number = (unsigned)(s - l->services);
	char name[64], file[96];

	if (*made)
		return *made;
	snprintf(name, sizeof(name), "Handler%u.%s_step_%u", f % 37, s->kind->name, f);
	snprintf(file, sizeof(file), "/srv/%s-%u/lib/python3.11/site-packages/pkg%u/module_%u.py",
		 s->kind->name, number, f % 13, f / 11);
	return *made = profile_location(
		       p, &(struct profile_location){
				  .mapping = l->python,
				  .function = profile_function(
					  p,
					  &(struct profile_function){
						  .name = profile_string(p, name),
						  .file = profile_string(p, file),
						  .start_line = 1 + (int32_t)(f % 11) * 60}),
				  .line = 3 + (int32_t)(f % 11) * 60 + (int32_t)at * 2,
				  .column = 9,
				  .end_line = 3 + (int32_t)(f % 11) * 60 + (int32_t)at * 2,
				  .end_column = 40});
}

static uint32_t leaf(struct load *l, struct profile *p, bool kernel)
{
	unsigned f = skewed(l, 300, 3), at = next(l) % 5;
	char name[32];

	snprintf(name, sizeof(name), kernel ? "sys_call_%u" : "native_%u", f);
	return profile_location(
		p,
		&(struct profile_location){
			.mapping = kernel ? l->kernel : l->native,
			.function = profile_function(
				p,
				&(struct profile_function){.name = profile_string(p, name),
							   .system_name = profile_string(p, name)}),
			.address = (kernel ? 0xffffffff81000000ull : 0x1000) + f * 512 + at * 24});
}

static uint32_t make_stack(struct load *l, struct profile *p, const struct service *s, bool waits)
{
	unsigned deep = s->kind->deep / 2 + next(l) % s->kind->deep;
	uint32_t node = 0, n = 0, f = 0;

	for (; n + 1 < deep; n++) {
		/* real stacks share their outer frames, and differ near their inner ends */
		bool inner = deep - n <= INNER;
		unsigned call = skewed(l, CALLS, inner ? s->kind->skew : OUTER_SKEW);

		node = profile_node(p, node, location(l, p, s, f, call));
		f = s->functions[f].calls[call];
	}
	node = profile_node(p, node, location(l, p, s, f, CALLS + skewed(l, LINES, 2)));
	n++;
	if (waits || !(next(l) % 3)) {
		node = profile_node(p, node, leaf(l, p, waits));
		n++;
	}
	return profile_stack_at(p, node, n);
}

static uint32_t number_label(struct profile *p, unsigned number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return profile_string(p, text);
}

static uint32_t make_labels(struct load *l, struct profile *p, const struct service *s,
			    unsigned process, unsigned thread, unsigned state)
{
	static const char *const states[] = {"running",	       "running",	"running",
					     "waiting: lock",  "waiting: file", "waiting: socket",
					     "waiting: sleep", "waiting: pipe", "waiting: child"};
	static const char *const gil[] = {"held", "none", "waiting"};
	char name[64], cgroup[96];

	snprintf(name, sizeof(name), "%s-%u", s->kind->name, (unsigned)(s - l->services));
	snprintf(cgroup, sizeof(cgroup), "/system.slice/%s.service", name);
	const struct profile_label labels[] = {
		{profile_string(p, "pid"), number_label(p, 10000 + process)},
		{profile_string(p, "tid"), number_label(p, 20000 + process * THREADS + thread)},
		{profile_string(p, "thread"),
		 thread ? profile_string(p, "worker") : profile_string(p, "MainThread")},
		{profile_string(p, "process"), profile_string(p, name)},
		{profile_string(p, "cgroup"), profile_string(p, cgroup)},
		{profile_string(p, "service"), profile_string(p, name)},
		{profile_string(p, "version"), profile_string(p, "1.4.2")},
		{profile_string(p, "gil"), profile_string(p, gil[state < 3 ? state : 1])},
		{profile_string(p, "state"), profile_string(p, states[state])},
	};

	return profile_labels(p, labels, ARRAY_SIZE(labels));
}

struct profile_sample load_sample(struct load *l, struct profile *p)
{
	double at = load_random(l);
	const struct service *s = l->services;
	unsigned process, thread, state;
	struct profile_sample to = {};
	uint32_t *labels;
	bool waits;

	while (s->upto < at && s + 1 < l->services + l->o.services)
		s++;
	process = s->first + skewed(l, s->n, 1.5);
	thread = skewed(l, THREADS, 3);
	waits = load_random(l) < WAITS / (1 + WAITS);
	state = waits ? 3 + skewed(l, REASONS, 2) : skewed(l, 3, 4);
	labels = &l->labels[(process * THREADS + thread) * (REASONS + 3) + state];
	if (!*labels)
		*labels = make_labels(l, p, s, process, thread, state);
	to.labels = *labels;
	to.stack = make_stack(l, p, s, waits);
	to.values[0] = 1;
	to.values[waits ? 2 : 1] = waits ? (int64_t)(pow(load_random(l), 4) * 1e9) : 10101010;
	return to;
}
