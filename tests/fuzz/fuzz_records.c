/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as records of the rings. Two bytes give the length of each record; 0 stands for a
 * call of collect_flush(). Records get process numbers that no process can have; otherwise krait
 * would read real processes. The profile must have as many samples of the first event as krait
 * counted, each with a stack, and no sample may be missing from the counts.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/collect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define NO_PROCESS 0x7ffffff0u /* the low four bits of the process number come from the input */

static const struct py_layout layouts[] = {
	{.version = 0x207}, {.version = 0x306}, {.version = 0x309}, {.version = 0x30a},
	{.version = 0x30b}, {.version = 0x30c}, {.version = 0x30d}, {.version = 0x30e}};

static int add_layout(void *ctx, const struct py_layout *l, uint16_t *index)
{
	*index = 0;
	return 0;
}

static const struct py_layout *get_layout(void *ctx, uint16_t index)
{
	return index < ARRAY_SIZE(layouts) ? &layouts[index] : NULL;
}

static int set_proc(void *ctx, const struct proc_key *k, enum proc_state state,
		    const struct py_where *where, const struct image_place *place, uint32_t space)
{
	return 0;
}

static int set_several(void *ctx, const struct proc_several *several)
{
	return 0;
}

static int add_exe(void *ctx, const struct exe_key *k, const struct exe_entry *e)
{
	return 0;
}

static void ask_again(void *ctx, uint32_t tgid)
{
}

static const struct collect_ops ops = {add_layout,  get_layout, set_proc,
				       set_several, add_exe,	ask_again};

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Gives the record a process number that no process can have. */
static void disown(uint8_t *rec, size_t n)
{
	static const size_t at[] = {[REC_SAMPLE] = offsetof(struct rec_sample, proc),
				    [REC_SAMPLE_END] = offsetof(struct rec_sample, proc),
				    [REC_STACK] = offsetof(struct rec_stack, proc),
				    [REC_CODE] = offsetof(struct rec_code, proc),
				    [REC_PROC] = offsetof(struct rec_proc, proc),
				    [REC_NATIVE] = offsetof(struct rec_native, proc),
				    [REC_ABSENT] = offsetof(struct rec_absent, proc),
				    [REC_WAIT] = offsetof(struct rec_wait, sample.proc),
				    [REC_ACCOUNT] = offsetof(struct rec_account, sample.proc)};
	struct proc_key key;

	if (rec[0] >= ARRAY_SIZE(at) || n < at[rec[0]] + sizeof(key))
		return;
	memcpy(&key, rec + at[rec[0]], sizeof(key));
	key.tgid |= NO_PROCESS;
	memcpy(rec + at[rec[0]], &key, sizeof(key));
	if (rec[0] == REC_WAIT && n >= sizeof(struct rec_wait)) {
		memcpy(&key, rec + offsetof(struct rec_wait, waker.proc), sizeof(key));
		key.tgid |= NO_PROCESS;
		memcpy(rec + offsetof(struct rec_wait, waker.proc), &key, sizeof(key));
	}
	if (rec[0] == REC_PROC)
		memcpy(rec + offsetof(struct rec_proc, parent), &key.tgid, sizeof(key.tgid));
}

/*
 * Sends a copy of exactly the record's size, so that ASan notices a read past its end. Returns
 * whether the record is a sample.
 */
static bool send(struct collect *c, const uint8_t *data, size_t n)
{
	_cleanup_free_ uint8_t *rec = malloc(n);

	check(rec);
	memcpy(rec, data, n);
	disown(rec, n);
	collect_record(c, rec, n);
	if (rec[0] == REC_WAIT)
		return n >= WAIT_BYTES;
	return (rec[0] == REC_SAMPLE || rec[0] == REC_SAMPLE_END) && n >= sizeof(struct rec_sample);
}

struct sum {
	const struct profile *profile;
	uint64_t samples, apart_ns;
};

static int add(void *arg, const struct profile_sample *s)
{
	struct sum *sum = arg;
	size_t n;

	profile_get_stack(sum->profile, s->stack, &n);
	check(n > 0);
	sum->samples += (uint64_t)s->values[0];
	if (streq(profile_label_text(sum->profile, s->labels, "state"), "runnable") ||
	    streq(profile_label_text(sum->profile, s->labels, "state"), "stolen"))
		sum->apart_ns += (uint64_t)s->values[2];
	return 0;
}

static void flush(struct collect *c, struct profile *p, bool last, uint64_t sent)
{
	struct sum sum = {.profile = p};
	struct collect_stats st;

	check(!collect_flush(c, last));
	collect_stats(c, &st);
	check(!profile_each(p, add, &sum) && sum.samples == st.sources[0].samples);
	check(sum.apart_ns == st.accounts.ready_ns + st.accounts.stolen_ns);
	check(st.sources[0].samples + st.sources[1].samples == st.samples && st.samples <= sent);
	if (!last)
		return;
	sent -= st.samples + st.not_python + st.unknown + st.crowded.samples;
	check(sent <= st.broken_records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct profile *p = profile_new();
	struct collect_config config = {.profile = p,
					.n_sources = 2,
					.ops = &ops,
					.kallsyms = -1,
					.start_ns = 500,
					.waits = true,
					.wait_source = 1,
					.max_bytes = 64 << 20};
	struct collect *c;
	uint64_t sent = 0;

	profile_meta(p)->n_values = 1 + config.n_sources;
	c = collect_new(&config);
	check(c);
	while (n >= 2) {
		size_t size = MIN((size_t)(data[0] | data[1] << 8), n - 2);

		data += 2;
		n -= 2;
		if (size)
			sent += send(c, data, size);
		else
			flush(c, p, false, sent);
		data += size;
		n -= size;
	}
	flush(c, p, true, sent);
	check(collect_free(c));
	profile_free(p);
	return 0;
}
