/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's writer process is killed at random moments while it appends frames (batches of
 * samples), seals segments (turns their frames into blocks) and makes room. Two processes read the
 * store all the time, and must always get whole frames without a gap, as they were sent. After a
 * kill, the store has all frames that the writer had finished. A writer that reports a frame before
 * it has written it must be noticed.
 */
#include "store_profile.h"

#include "store/numbering.h"
#include "store/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Includes the writer as it is shipped, but replaces store_append() by this function. */
static int append_or_hold(struct store *s, const struct blob_place *place, const void *columns,
			  size_t n);
#define store_append append_or_hold
#include "agent/writer.c"
#undef store_append

#define ROUNDS	    60
#define ROUNDS_FULL 1000
#define ROUNDS_HELD 10
#define READERS	    2
#define SAMPLES	    4 /* of a frame */
#define OF_SEGMENT  5
#define MOST	    14 /* frames of a round */
#define FRAME_MS    100
/* the store's limit in bytes, of which 12 MiB are for SQLite's log */
#define LIMIT ((12ull << 20) + (96 << 10))

static char dir[] = "/tmp/krait-store-XXXXXX";

static struct test {
	struct profile *p;
	/* the samples of all frames (batches) that may be sent */
	VEC(struct profile_sample) samples;
	struct lines truth; /* the same samples as lines of text, sorted by time */
	/*
	 * number of frames (batches of samples) that were sent, and of these that are known to be
	 * written
	 */
	unsigned sent, written;
	/*
	 * makes the writer faulty: it reports a frame (batch of samples) before it has written it
	 */
	bool hold;
	uint32_t random;
} t;

static const char *store_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/s", dir);
	return path;
}

enum fate { NEVER, MAYBE, WRITTEN };

/* Memory that all processes of the test share. */
static struct shared {
	unsigned passes, wrong; /* of readers */
	bool end;
	/*
	 * whether each frame (batch of samples) was written; of a frame that a kill interrupted,
	 * that isn't known
	 */
	enum fate fates[MOST * ROUNDS_FULL];
} * shared;

static int append_or_hold(struct store *s, const struct blob_place *place, const void *columns,
			  size_t n)
{
	static struct blob_place held_place;
	static struct str held;
	int r;

	if (!t.hold)
		return store_append(s, place, columns, n);
	r = held.n ? store_append(s, &held_place, held.s, held.n) : 0;
	held_place = *place;
	str_clear(&held);
	str_add_n(&held, columns, n);
	return r;
}

static void make_samples(unsigned frames)
{
	t.p = new_profile();
	for (unsigned i = 0; i < frames * SAMPLES; i++) {
		struct profile_sample s = random_sample(t.p, &t.random);
		unsigned ms = i / SAMPLES * FRAME_MS + i % SAMPLES;

		s.time_ns = (int64_t)ms * (int64_t)NSEC_PER_MSEC;
		assert_int_equal(profile_add(t.p, &s), 0);
		assert_int_equal(vec_push(&t.samples, s), 0);
	}
	t.truth = lines_of(t.p);
}

/* What a reader finds in the store. */
struct found {
	/* number of the oldest frame (batch of samples) in the store, and how many there are */
	unsigned first, frames;
	bool has[MOST * ROUNDS_FULL];
};

/*
 * Tells whether the samples @got are those of whole frames (batches) without a gap. Sets @ret to
 * the frames found.
 */
static bool compare(const struct lines *got, struct found *ret)
{
	const char *const *truth = (const char *const *)t.truth.list.v;
	size_t n = got->list.n, last = 0;

	for (size_t i = 0; i < n; i += SAMPLES) {
		size_t at = (size_t)(strtoll(got->list.v[i], NULL, 10) - BEGIN_MS) / FRAME_MS;

		if (n - i < SAMPLES || at >= t.truth.list.n / SAMPLES || (i && at <= last))
			return false;
		for (size_t k = 0; k < SAMPLES; k++)
			if (!streq(got->list.v[i + k], truth[at * SAMPLES + k]))
				return false;
		ret->first = i ? ret->first : (unsigned)at;
		ret->has[last = at] = true;
	}
	ret->frames = (unsigned)(n / SAMPLES);
	return true;
}

/* Reads the whole store. Tells whether its frames (batches of samples) are right. */
static bool look(struct found *ret)
{
	const struct store_query q = {.since_ms = BEGIN_MS, .until_ms = BEGIN_MS + (1ll << 32)};
	struct store *s = NULL;
	struct profile *p = NULL;
	struct lines got;
	int r = store_open(store_path(), 0, &s);
	bool right;

	*ret = (struct found){};
	r = r ? r : store_read(s, &q, &p);
	store_close(s);
	if (r && r != -ENODATA)
		print_message("%s\n", err_msg());
	if (r)
		return r == -ENODATA;
	got = lines_of(p);
	right = compare(&got, ret) && !profile_meta(p)->comments.n_warnings;
	lines_fini(&got);
	profile_free(p);
	return right;
}

/*
 * Tells whether the store has each frame (batch of samples) that was written, except those older
 * than its oldest one, and no frame that was never written.
 */
static bool fates_are_right(const struct found *found, const enum fate *fates)
{
	for (unsigned i = 0; i < ARRAY_SIZE(shared->fates); i++)
		if (found->has[i] ? fates[i] == NEVER : fates[i] == WRITTEN && i >= found->first)
			return false;
	return true;
}

/*
 * Runs in a reader's process. Once a frame (batch of samples) was seen, it must be there until the
 * store removes it as the oldest.
 */
static void read_on(void)
{
	static struct found now;
	static enum fate fates[ARRAY_SIZE(shared->fates)], seen[ARRAY_SIZE(shared->fates)];

	while (!__atomic_load_n(&shared->end, __ATOMIC_RELAXED)) {
		bool right;

		memcpy(fates, shared->fates, sizeof(fates));
		right = look(&now);
		for (unsigned i = 0; i < ARRAY_SIZE(seen); i++) {
			right &= now.has[i] || seen[i] != WRITTEN || i < now.first;
			right &= now.has[i] || fates[i] != WRITTEN || i < now.first;
			seen[i] = now.has[i] ? WRITTEN : seen[i];
		}
		__atomic_fetch_add(&shared->passes, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&shared->wrong, !right, __ATOMIC_RELAXED);
	}
	_exit(0);
}

/* One round of the test: a writer process, and what was sent to it. */
struct round {
	pid_t pid;
	int in[2], out[2];
	struct numbering n;
	struct blob_place place;
	/* number of bytes sent: in all, and up to the end of each frame (batch of samples) */
	size_t sent, ends[MOST];
	unsigned frames; /* number of frames (batches of samples) sent completely */
};

static void start_writer(struct round *r)
{
	const struct agent_options o = {.store = store_path(), .max_bytes = LIMIT};
	struct agent_answer answer;

	assert_int_equal(pipe(r->in), 0);
	assert_int_equal(pipe(r->out), 0);
	r->pid = fork();
	if (!r->pid) {
		close(r->in[1]);
		/*
		 * the test reads only the first answer, so the pipe may get full and must not block
		 */
		(void)fcntl(r->out[1], F_SETFL, O_NONBLOCK);
		agent_write(&o, getppid(), 0, -1, (const int[]){r->in[0], r->out[1]});
	}
	assert_int_equal(read(r->out[0], &answer, sizeof(answer)), sizeof(answer));
	assert_int_equal(answer.kind, ANSWER_READY);
	numbering_begin(&r->n);
}

/* Makes the next frame (batch of samples), as the agent's sampler would send it. */
static void make_frame(struct round *r, struct str *ret)
{
	unsigned at = t.sent++;
	struct agent_frame f;
	struct str columns = {};

	r->place.first_ms = BEGIN_MS + at * FRAME_MS;
	r->place.last_ms = r->place.first_ms + FRAME_MS - 1;
	r->place.samples = SAMPLES;
	for (unsigned i = 0; i < SAMPLES; i++)
		assert_int_equal(numbering_add(&r->n, t.p, &t.samples.v[at * SAMPLES + i],
					       r->place.first_ms + i),
				 0);
	assert_int_equal(numbering_end(&r->n, t.p), 0);
	assert_int_equal(batch_encode(&r->n.batch, &columns), 0);
	batch_clear(&r->n.batch);
	f = (struct agent_frame){.place = r->place, .bytes = columns.n};
	str_add_n(ret, &f, sizeof(f));
	str_add_n(ret, columns.s, columns.n);
	str_fini(&columns);
	if (++r->place.sequence % OF_SEGMENT)
		return;
	numbering_begin(&r->n);
	r->place.segment++;
	r->place.sequence = 0;
}

static void send_frames(struct round *r)
{
	struct str bytes = {};

	while (r->frames < MOST) {
		str_clear(&bytes);
		shared->fates[t.sent] = MAYBE;
		make_frame(r, &bytes);
		assert_int_equal(write(r->in[1], bytes.s, bytes.n), bytes.n);
		r->sent += bytes.n;
		r->ends[r->frames++] = r->sent;
	}
	str_fini(&bytes);
}

/*
 * Returns how many frames (batches of samples) the writer has read. Sets *@written to how many it
 * has certainly written: it reads a frame only after it has written the one before.
 */
static unsigned taken(const struct round *r, unsigned *written)
{
	unsigned n = 0;
	int unread;

	assert_int_equal(ioctl(r->in[0], FIONREAD, &unread), 0);
	*written = 0;
	for (unsigned i = 0; i < r->frames; i++) {
		*written += r->sent - (size_t)unread > r->ends[i];
		n += r->sent - (size_t)unread >= r->ends[i];
	}
	return n;
}

/*
 * Kills the writer a moment after it has read some frame (batch of samples), whatever the writer is
 * doing.
 */
static void kill_at_random(struct round *r)
{
	unsigned frames = random_below(&t.random, MOST), written;
	struct timespec pause = {.tv_nsec = random_below(&t.random, 6000000)};

	while (taken(r, &written) < frames)
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	nanosleep(&pause, NULL);
	kill(r->pid, SIGKILL);
	assert_int_equal(waitpid(r->pid, NULL, 0), r->pid);
}

/*
 * Lets a writer take frames (batches of samples), and kills it. Returns whether the store is wrong
 * after that.
 */
static bool round_is_wrong(void)
{
	static struct found found;
	struct round r = {};
	unsigned first = t.sent, n, written;
	bool right;

	start_writer(&r);
	send_frames(&r);
	kill_at_random(&r);
	n = taken(&r, &written);
	for (unsigned i = 0; i < MOST; i++)
		shared->fates[first + i] = i < written ? WRITTEN : i < n ? MAYBE : NEVER;
	t.written += written;
	right = look(&found) && fates_are_right(&found, shared->fates);
	numbering_fini(&r.n);
	for (int i = 0; i < 2; i++) {
		close(r.in[i]);
		close(r.out[i]);
	}
	return !right;
}

static void start_readers(pid_t *pids)
{
	for (unsigned i = 0; i < READERS; i++) {
		pids[i] = fork();
		if (!pids[i])
			read_on();
	}
}

static void end_readers(const pid_t *pids)
{
	__atomic_store_n(&shared->end, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < READERS; i++) {
		int status = -1;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

static void make_store(void)
{
	struct store *s = NULL;

	assert_int_equal(store_open(store_path(), getpid(), &s), 0);
	store_close(s);
}

static unsigned kill_often(unsigned rounds)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < rounds; i++)
		wrong += round_is_wrong();
	return wrong;
}

static void prepare(unsigned rounds)
{
	make_samples(rounds * MOST);
	make_store();
}

static int forget(void **state)
{
	char words[96];

	snprintf(words, sizeof(words), "rm -rf %s", store_path());
	assert_int_equal(system(words), 0);
	lines_fini(&t.truth);
	vec_fini(&t.samples);
	profile_free(t.p);
	t = (struct test){};
	memset(shared, 0, sizeof(*shared));
	return 0;
}

static void test_killed(void **state)
{
	const char *full = getenv("KRAIT_TEST_FULL");
	unsigned rounds = full && *full ? ROUNDS_FULL : ROUNDS, wrong;
	pid_t pids[READERS];

	prepare(rounds);
	start_readers(pids);
	wrong = kill_often(rounds);
	end_readers(pids);
	print_message("%u kills, %u frames written, %u wrong; %u times read meanwhile, %u wrong\n",
		      rounds, t.written, wrong, shared->passes, shared->wrong);
	assert_int_equal(wrong, 0);
	assert_int_equal(shared->wrong, 0);
	assert_true(shared->passes > rounds && t.written > rounds);
}

static void test_held_back(void **state)
{
	unsigned wrong;

	t.hold = true;
	prepare(ROUNDS_HELD);
	wrong = kill_often(ROUNDS_HELD);
	print_message("a frame held back: %u of %d wrong\n", wrong, ROUNDS_HELD);
	assert_true(wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_killed, forget),
		cmocka_unit_test_teardown(test_held_back, forget),
	};
	int r;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || !mkdtemp(dir))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	return rmdir(dir) ? 1 : r;
}
