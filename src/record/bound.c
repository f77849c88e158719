/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the memory of a recording within its limit. It counts the recording's tables, and the
 * memory that the next step will take: condensing them (summing up what is rare,
 * profile/remake/condense.h) or writing the output. Condensing begins before the sum exceeds the
 * limit. krait reserves address space for the next step, and gives it back right before it needs
 * the memory. So even if the system refuses memory, what was recorded can still be written.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "proc/machine/memory.h"
#include "profile/sums.h"
#include "record/session.h"

#define MOST_BYTES  ((uint64_t)512 << 20)
#define LEAST_BYTES ((uint64_t)8 << 20)
/*
 * recorded data may take 1/SHARE of the memory that krait may use, because the targets need memory
 * as well
 */
#define SHARE 4

/* bytes of a node in the tree of stacks (view/shape/tree.c, html_tree.c), without its values */
#define NODE_BYTES 94
/*
 * condensing (summing up what is rare) keeps at least one function for every KEEP_BYTES bytes of
 * the limit
 */
#define KEEP_BYTES 32768
/* the least time between two condensings; in between, waiting samples can be added */
#define APART_NS     NSEC_PER_SEC

#define RESERVE_STEP ((size_t)8 << 20)

/*
 * Recording twenty Python processes on two CPUs takes 37 MiB. The sum includes the kernel's own
 * memory for krait, which counts for a control group's limit. If a group exceeds its limit, the
 * kernel kills a process without a message.
 */
#define NEEDED_BYTES ((uint64_t)28 << 20)
#define NEEDED_CPU   ((uint64_t)4 << 20)
/*
 * NEEDED_CPU is counted for at most this many CPUs, because on larger machines rings are smaller,
 * or most CPUs have no samples
 */
#define NEEDED_CPUS 8ull

int session_check_memory(void)
{
	uint64_t cpus = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1l);
	uint64_t needed = NEEDED_BYTES + MIN(cpus, NEEDED_CPUS) * NEEDED_CPU;
	uint64_t allowed = memory_allowed();

	if (allowed >= needed)
		return 0;
	return err_set(
		-ENOMEM,
		"krait needs at least %llu MiB of memory, but may take only %llu MiB; raise the "
		"limit of its control group or of `ulimit -v`, or use a machine with more memory",
		(unsigned long long)(needed >> 20), (unsigned long long)(allowed >> 20));
}

void session_bound_init(struct session *s)
{
	s->max_bytes = s->options->memory;
	if (!s->max_bytes)
		s->max_bytes = MAX(MIN(memory_allowed() / SHARE, MOST_BYTES), LEAST_BYTES);
	log_debug("what is recorded may take %zu MiB of memory", s->max_bytes >> 20);
}

int session_condense(struct session *s, struct condense *c)
{
	int r;

	sampler_send_again(s->sampler);
	if (!s->condensed++)
		profile_add_comment(s->profile, "note",
				    "to save memory, rare functions are shown together as [rare "
				    "code], and threads that have ended as [ended]");
	r = session_rebase(s, &c->rebase);
	collect_next_round(s->collect);
	return r;
}

void session_bound_release(struct session *s)
{
	struct session_bound *b = &s->bound;

	if (b->reserve)
		munmap(b->reserve, b->reserve_bytes);
	b->reserve = NULL;
	b->reserve_bytes = 0;
}

/*
 * Returns the bytes of memory that are held now, plus the most that the next step (condensing, or
 * writing the output) will take.
 */
static size_t needed(const struct session *s)
{
	size_t node = NODE_BYTES + profile_meta(s->profile)->n_values * sizeof(int64_t);
	size_t writing = profile_n_nodes(s->profile) * node;

	return collect_kept_bytes(s->collect) + collect_bytes(s->collect) +
	       MAX(collect_bytes(s->collect), writing);
}

/*
 * Reserves address space. krait never touches it, so it takes no memory, but limits of address
 * space count it.
 */
static int keep_reserve(struct session *s)
{
	struct session_bound *b = &s->bound;
	size_t more = needed(s) - collect_kept_bytes(s->collect) - collect_bytes(s->collect);
	size_t bytes = (more / RESERVE_STEP + 1) * RESERVE_STEP;
	void *at;

	if (bytes <= b->reserve_bytes)
		return 0;
	at = b->reserve ? mremap(b->reserve, b->reserve_bytes, bytes, MREMAP_MAYMOVE)
			: mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return err_set(-ENOMEM, "out of memory: nothing more can be recorded");
	b->reserve = at;
	b->reserve_bytes = bytes;
	return 0;
}

static int add_stack(void *arg, const struct profile_sample *sample)
{
	return sums_add(arg, &(struct sums_key){.stack = sample->stack, .time_ns = -1},
			sample->values);
}

/*
 * Begins to condense the profile (to sum up rare functions). Which functions are kept depends on
 * the samples so far.
 */
static int begin(struct session *s, struct condense *c)
{
	struct sums none = {}, by_stack;
	const struct sums *const all[] = {&by_stack};
	size_t keep = MAX(profile_n_stacks(s->profile) / 4, s->max_bytes / KEEP_BYTES);
	int r;

	sums_init(&by_stack, profile_meta(s->profile)->n_values);
	r = profile_each(s->profile, add_stack, &by_stack);
	r = r ? r : condense_begin(c, s->profile, &none, all, ARRAY_SIZE(all), keep);
	sums_fini(&by_stack);
	return r;
}

static int condense(struct session *s)
{
	struct condense c;
	int r = begin(s, &c);

	if (r)
		return r;
	c.keeps_ended = profile_n_labels(c.rebase.copy.from) <= c.keep;
	r = condense_end(&c, session_condense(s, &c));
	s->void_ids |= r != 0;
	return r;
}

int session_bound(struct session *s)
{
	struct session_bound *b = &s->bound;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	size_t before = needed(s);
	int r;

	if (before < s->max_bytes || now < b->due_ns)
		return keep_reserve(s);
	session_bound_release(s);
	r = condense(s);
	log_debug("summing up rare functions left %zu of %zu bytes in use", needed(s), before);
	b->due_ns = clock_ns(CLOCK_MONOTONIC) + APART_NS;
	return r ? r : keep_reserve(s);
}
