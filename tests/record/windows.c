/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * windows PYTHON SCRIPT: proves that a recording can be cut into windows (session_window()).
 * SCRIPT (faults.py) prints a line, reads a line, works for 2 s, prints a line, and reads again.
 *
 * 1. Each page fault of SCRIPT is a sample, and a window is cut every 200 ms. The windows must have
 *    as many samples in all as the kernel counts page faults, by a counter that the test opens.
 * 2. All that the collector was given is given to other collectors (stream.h), which cut it into
 *    windows or don't. Each sample must be the same: its time, values, labels, and all that is
 *    known of its frames.
 * 3. Part 2 is repeated with mistakes made on purpose, which the test must notice.
 * 4. A cut fails if memory is missing, and so do later cuts, which would use the old ids.
 *
 * Needs root.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/text/str.h"
#include "base/util.h"
#include "profile/profile.h"
#include "record/session.h"
#include "record/figures/summary.h"
#include "stream.h"

#define WINDOW_NS  (200 * NSEC_PER_MSEC)
#define SETTLED_US 200000 /* after this time the script surely sleeps in read() */

extern char **environ;

/* Names that some samples must have in a frame or a label. A wrong cut could lose these names. */
static const char *const has[] = {"mine=this", "thread=early", "thread=late", "new_",
				  "[python 3", "mmap.cpython", "libc.so"};

/* A sample: its time, and a hash of its values, its labels and all that is known of its frames. */
struct sample {
	int64_t time_ns;
	uint64_t hash;
};

/* The samples of all windows. */
struct samples {
	VEC(struct sample) all;
	unsigned windows;
	/* number of samples with the name has[i] in a frame or a label */
	size_t n_with[ARRAY_SIZE(has)];
};

/*
 * What is known of an id of a profile (of a location or of a label set). .hash is 0 before it is
 * computed.
 */
struct known {
	uint64_t hash;
	unsigned with; /* a set of indexes into has[], one bit each */
};

struct window {
	struct profile *p;
	struct samples *to;
	struct known *locations, *labels; /* both are indexed by the profile's ids */
};

static void add_frame(struct str *b, const struct profile *p, uint32_t location)
{
	const struct profile_location *l = profile_get_location(p, location);
	const struct profile_mapping *m = profile_get_mapping(p, l->mapping);

	str_addf(b, "%s %s %d %llx %llx;", profile_get_string(p, m->name),
		 profile_get_string(p, m->build_id), m->kind, (unsigned long long)m->start,
		 (unsigned long long)l->address);
	if (l->function) {
		const struct profile_function *f = profile_get_function(p, l->function);

		str_addf(b, "%s %s %s %s %d;", profile_get_string(p, f->name),
			 profile_get_string(p, f->file), profile_get_string(p, f->system_name),
			 profile_get_string(p, f->made_in), f->start_line);
	}
	str_addf(b, "%d:%d-%d:%d %d\n", l->line, l->column, l->end_line, l->end_column, !!l->outer);
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Adds the labels, sorted by name. (In the profile they are sorted by id, and ids differ between
 * windows.)
 */
static void add_labels(struct str *b, const struct profile *p, uint32_t set)
{
	size_t n;
	const struct profile_label *labels = profile_get_labels(p, set, &n);
	char *texts[32];

	expect(n <= ARRAY_SIZE(texts), "more labels than expected");
	for (size_t i = 0; i < n; i++)
		expect(asprintf(&texts[i], "%s=%s\n", profile_get_string(p, labels[i].key),
				profile_get_string(p, labels[i].value)) > 0,
		       "memory");
	qsort(texts, n, sizeof(*texts), compare_text);
	for (size_t i = 0; i < n; i++) {
		str_add(b, texts[i]);
		free(texts[i]);
	}
}

static const struct known *know(const struct window *w, struct known *k, uint32_t id,
				void (*add)(struct str *b, const struct profile *p, uint32_t id))
{
	struct str b = {};

	if (k->hash)
		return k;
	add(&b, w->p, id);
	expect(!b.failed && b.n, "memory");
	k->hash = XXH3_64bits(b.s, b.n);
	for (unsigned i = 0; i < ARRAY_SIZE(has); i++)
		k->with |= (unsigned)(strstr(str_cstr(&b), has[i]) != NULL) << i;
	str_fini(&b);
	return k;
}

static int64_t shown_ns = -1; /* samples of this time are printed; -1: none */

static void show(const struct window *w, const struct profile_sample *s)
{
	size_t n;
	const uint32_t *frames = profile_get_stack(w->p, s->stack, &n);
	struct str text = {};

	add_labels(&text, w->p, s->labels);
	for (size_t i = 0; i < n; i++)
		add_frame(&text, w->p, frames[i]);
	printf("%lld %lld\n%s", (long long)s->values[0], (long long)s->values[1], str_cstr(&text));
	str_fini(&text);
}

static int add_sample(void *arg, const struct profile_sample *s)
{
	const struct window *w = arg;
	size_t n;
	const uint32_t *frames = profile_get_stack(w->p, s->stack, &n);
	const struct known *k = know(w, &w->labels[s->labels], s->labels, add_labels);
	uint64_t parts[4] = {s->time_ns, s->values[0], s->values[1], k->hash};
	uint64_t hash = XXH3_64bits(parts, sizeof(parts));
	unsigned with = k->with;

	for (size_t i = 0; i < n; i++) {
		k = know(w, &w->locations[frames[i]], frames[i], add_frame);
		parts[0] = hash;
		parts[1] = k->hash;
		hash = XXH3_64bits(parts, 2 * sizeof(*parts));
		with |= k->with;
	}
	for (size_t i = 0; i < ARRAY_SIZE(has); i++)
		w->to->n_with[i] += with >> i & 1;
	if (s->time_ns == shown_ns)
		show(w, s);
	return vec_push(&w->to->all, (struct sample){s->time_ns, hash});
}

static void take_window(struct samples *to, struct profile *p)
{
	struct window w = {p, to, calloc(profile_n_locations(p) + 1, sizeof(struct known)),
			   calloc(profile_n_labels(p) + 1, sizeof(struct known))};

	to->windows++;
	expect(w.locations && w.labels && !profile_each(p, add_sample, &w), "memory");
	free(w.locations);
	free(w.labels);
}

static void clear(struct samples *s)
{
	vec_fini(&s->all);
	*s = (struct samples){};
}

static int compare_samples(const void *va, const void *vb)
{
	const struct sample *a = va, *b = vb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* Returns the time of the first sample that differs; -1: @a and @b have the same samples. */
static int64_t difference(const struct samples *a, const struct samples *b)
{
	size_t i = 0, n = MIN(a->all.n, b->all.n);

	while (i < n && !compare_samples(&a->all.v[i], &b->all.v[i]))
		i++;
	if (i < n)
		return MIN(a->all.v[i].time_ns, b->all.v[i].time_ns);
	return a->all.n == b->all.n ? -1 : a->all.n > n ? a->all.v[n].time_ns : b->all.v[n].time_ns;
}

/*
 * Tells a replay where to cut windows: after every @every entries of the saved input, and after
 * entry @at.
 */
struct cuts {
	struct samples got;
	size_t every, at;
};

static bool is_cut(void *ctx, size_t i)
{
	const struct cuts *c = ctx;

	return (c->every && i % c->every == c->every - 1) || i == c->at;
}

static void cut_window(void *ctx, struct profile *p)
{
	take_window(&((struct cuts *)ctx)->got, p);
}

static void replay(struct session *s, struct cuts *c, bool native)
{
	const struct stream_user user = {is_cut, cut_window, c, native};

	clear(&c->got);
	stream_replay(s, &user);
	qsort(c->got.all.v, c->got.all.n, sizeof(*c->got.all.v), compare_samples);
}

static void expect_much(const struct samples *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(has); i++) {
		printf("%zu of %zu samples have %s\n", s->n_with[i], s->all.n, has[i]);
		expect(s->n_with[i] >= 5, "too few samples have something that a cut can lose");
	}
}

/*
 * Replays the recording cut into windows, and expects the same samples as in @whole, a replay
 * without cuts. If they differ, makes both replays again to show the first samples that differ.
 */
static void expect_same(struct session *s, struct cuts *whole, struct cuts *cut, bool native)
{
	replay(s, cut, native);
	shown_ns = difference(&whole->got, &cut->got);
	if (shown_ns < 0)
		return;
	printf("without cuts %zu samples; those at %lld ns:\n", whole->got.all.n,
	       (long long)shown_ns);
	replay(s, whole, native);
	printf("cut after each %zu entries and entry %zu, %zu samples:\n", cut->every, cut->at,
	       cut->got.all.n);
	replay(s, cut, native);
	expect(false, "samples differ between windows and the whole");
}

/*
 * Replays the recording with native frames: once without cuts, once cut into 60 windows, and then
 * once for each call of collect_flush(), cut into two windows at that call.
 */
static void replay_native(struct session *s)
{
	struct cuts whole = {.at = SIZE_MAX};
	struct cuts cut = {.at = SIZE_MAX, .every = stream_entries() / 60};

	replay(s, &whole, true);
	expect_much(&whole.got);
	expect_same(s, &whole, &cut, true);
	expect(cut.got.windows >= 60, "too few windows");
	cut.every = 0;
	for (cut.at = 0; cut.at < stream_entries(); cut.at++) {
		if (stream_is_flush(cut.at))
			expect_same(s, &whole, &cut, true);
	}
	clear(&whole.got);
	clear(&cut.got);
}

/*
 * Replays the recording once for each entry of the saved input, cut into two windows after that
 * entry, and compares the result with the replay without cuts.
 */
static void replay_each(struct session *s)
{
	struct cuts whole = {.at = SIZE_MAX}, cut = {};
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC), took_ns;

	replay(s, &whole, false);
	for (; cut.at < stream_entries(); cut.at++)
		expect_same(s, &whole, &cut, false);
	took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
	printf("%zu places, %.1f ms each\n", cut.at, (double)took_ns / 1e6 / (double)cut.at);
	clear(&whole.got);
	clear(&cut.got);
}

static void find_mistakes(struct session *s)
{
	static const char *const mistakes[] = {"stack", "label", "drop", "double"};
	struct cuts whole = {.at = SIZE_MAX}, cut = {.at = SIZE_MAX, .every = 100};

	replay(s, &whole, false);
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		stream_fault(mistakes[i]);
		replay(s, &cut, false);
		printf("%s: %zu of %zu samples\n", mistakes[i], cut.got.all.n, whole.got.all.n);
		expect(difference(&whole.got, &cut.got) >= 0, "a mistake isn't seen");
	}
	stream_fault(NULL);
	clear(&whole.got);
	clear(&cut.got);
}

static int cut_without_memory(void *ctx, uint64_t now)
{
	struct session *s = ctx;
	struct profile *window;

	expect(!s->void_ids, "the recording goes on with the old ids");
	stream_fault("memory");
	expect(session_window(s, &window) == -ENOMEM, "a cut without memory didn't fail");
	stream_fault(NULL);
	expect(session_window(s, &window) == -ENOMEM, "a second cut uses the old ids");
	return 0;
}

/*
 * Cuts a window while memory is missing, which makes the session fail. Sampling has stopped, but
 * the collector still holds its data.
 */
static void run_without_memory(struct session *s)
{
	expect(session_run(s, cut_without_memory, s) == -ENOMEM, "the recording didn't fail");
	expect(session_stop(s) == -ENOMEM, "the end doesn't say what is missing");
	printf("PASS windows-memory\n");
}

/* The process that runs the script, and pipes to its input and from its output. */
struct target {
	pid_t pid;
	int to, from;
	unsigned lines; /* how many lines the process has printed */
};

static struct target start_target(char **argv)
{
	int in[2], out[2];
	posix_spawn_file_actions_t actions;
	struct target t = {};

	expect(!pipe2(in, 0) && !pipe2(out, 0), "pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	for (int i = 0; i < 2; i++) {
		posix_spawn_file_actions_addclose(&actions, in[i]);
		posix_spawn_file_actions_addclose(&actions, out[i]);
	}
	expect(!posix_spawn(&t.pid, argv[0], &actions, NULL, argv, environ), "spawn");
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	t.to = in[1];
	t.from = out[0];
	return t;
}

/*
 * Waits until the script has printed @lines lines in all, and at most @ms for each piece of output.
 * Returns whether it has.
 */
static bool has_said(struct target *t, unsigned lines, int ms)
{
	struct pollfd p = {.fd = t->from, .events = POLLIN};
	char c;

	while (t->lines < lines && poll(&p, 1, ms) > 0) {
		expect(read(t->from, &c, 1) == 1, "the script has ended");
		t->lines += c == '\n';
	}
	return t->lines >= lines;
}

/* Opens a counter of the page faults of the process, including threads that it starts later. */
static int open_counter(pid_t pid)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_PAGE_FAULTS,
				       .inherit = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	expect(fd >= 0, "perf_event_open");
	return fd;
}

static void begin(struct session *s)
{
	int r = session_check_permitted(s);

	r = r ? r : caller_find(&s->caller);
	r = r ? r : session_set_up(s);
	r = r ? r : session_start(s);
	expect(!r, err_msg());
}

static void cut(struct session *s, struct samples *all)
{
	struct profile *window;

	expect(!session_window(s, &window), err_msg());
	take_window(all, window);
	profile_free(window);
}

/*
 * Records until the script is done, and cuts windows meanwhile. Returns the number of samples in
 * all windows, and sets @counted to the kernel's number of page faults.
 */
static uint64_t record(struct session *s, struct target *t, uint64_t *counted)
{
	struct samples all = {};
	uint64_t next = s->start_ns + WINDOW_NS, n;
	int counter = open_counter(t->pid);
	struct epoll_event e[4];

	expect(write(t->to, "go\n", 3) == 3, "write");
	while (!has_said(t, 2, 0)) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		epoll_wait(s->epoll_fd, e, ARRAY_SIZE(e), session_wait_ms(s, now));
		expect(session_drain(s) >= 0, err_msg());
		if (now >= next) {
			cut(s, &all);
			next = now + WINDOW_NS;
		}
	}
	usleep(SETTLED_US);
	expect(read(counter, counted, sizeof(*counted)) == sizeof(*counted), "read the counter");
	close(counter);
	expect(!session_stop(s), err_msg());
	take_window(&all, s->profile);
	n = all.all.n;
	printf("%u windows, %llu samples\n", all.windows, (unsigned long long)n);
	clear(&all);
	return n;
}

static void record_live(struct session *s, struct target *t)
{
	struct sampler_stats kernel;
	struct collect_stats stats;
	uint64_t counted, n = record(s, t, &counted), taken;

	sampler_stats(s->sampler, &kernel);
	collect_stats(s->collect, &stats);
	taken = kernel.counters[COUNT_SAMPLES];
	printf("the kernel counted %llu page faults, its programs took %llu samples and lost "
	       "%llu; stats %llu\n",
	       (unsigned long long)counted, (unsigned long long)taken,
	       (unsigned long long)sampler_lost(&kernel), (unsigned long long)stats.samples);
	expect(n == stats.samples && n == taken && n == counted && n > 300,
	       "windows don't have all samples");
	printf("PASS windows-live\n");
}

int main(int argc, char **argv)
{
	struct session_options o = {.count = 1, .native = NATIVE_MODE_LEAF};
	struct target t;
	struct session s;

	setvbuf(stdout, NULL, _IOLBF, 0);
	expect(argc == 3, "usage: windows PYTHON SCRIPT");
	t = start_target(argv + 1);
	expect(has_said(&t, 1, 20000), "the script doesn't begin");
	usleep(SETTLED_US);
	expect(!vec_push(&o.pids, t.pid) && !vec_push(&o.events, "page-faults"), "memory");
	session_init(&s, &o);
	session_bound_init(&s);
	begin(&s);
	record_live(&s, &t);
	replay_native(&s);
	stream_delay_process();
	replay_each(&s);
	printf("PASS windows-replay\n");
	find_mistakes(&s);
	printf("PASS windows-mistakes\n");
	run_without_memory(&s);
	session_end_sampling(&s);
	session_fini(&s);
	vec_fini(&o.pids);
	vec_fini(&o.events);
	close(t.to); /* the script ends */
	waitpid(t.pid, NULL, 0);
	return session_hangs(&s);
}
