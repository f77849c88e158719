/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile targets: an interpreter's memory image in which some words are replaced by other
 * pointers, huge sizes or noise. Every walk must end soon, stay within its buffers, and send
 * records that can be read. Used by test_walk_random.c and tests/fuzz/fuzz_walk.c.
 */
#ifndef TESTS_HOST_WALK_WALK_RANDOM_H
#define TESTS_HOST_WALK_WALK_RANDOM_H

#include "walk_chain.h"

#include "python/code/code.h"

#define MAX_MUTATIONS 32

/* the most reads that a stack walk may need, for a hostile circle of the largest texts */
#define MOST_READS (MAX_STEPS * 4 + HASH_BUDGET / 8 + 4096)

/* The source of random choices: the given bytes and, after these, a generator. */
struct choices {
	const uint8_t *data;
	size_t n;
	uint64_t state;
};

static inline uint64_t choose(struct choices *c)
{
	uint64_t v = 0;
	size_t n = MIN(c->n, sizeof(v));

	if (c->data) {
		memcpy(&v, c->data, n);
		c->data += n;
		c->n -= n;
		return v;
	}
	c->state ^= c->state << 13; /* a step of xorshift64 */
	c->state ^= c->state >> 7;
	c->state ^= c->state << 17;
	return c->state * 0x2545f4914f6cdd1dull;
}

static VEC(uint64_t) words; /* addresses of all words of the memory image that aren't 0 */

static inline void list_words(void)
{
	words.n = 0;
	map_foreach(slot, &host.pages) {
		for (uint64_t at = slot->key * HOST_PAGE; at < (slot->key + 1) * HOST_PAGE; at += 8)
			if (get_u64(at))
				host_must(!vec_push(&words, at), "out of memory");
	}
}

/* Makes a thread with frames and strings of every kind. */
static inline void random_image(const struct release *r)
{
	static struct plan plan;
	static struct expected expected;
	static uint8_t bytes[600];
	uint64_t code[3];

	image_begin(r);
	memset(bytes, 'x', sizeof(bytes));
	code[0] = image_code("short");
	code[1] = image_code_of(image_str(bytes, 20, 2, false, 7),
				image_str(bytes, 30, 4, false, NO_HASH),
				image_bytes(bytes, sizeof(bytes), NO_HASH), 3);
	code[2] = image_code_of(image_text("f.py"), image_str(bytes, 40, 1, false, NO_HASH),
				image_bytes(bytes, 100, 8), -1);
	if (image.l->code_version)
		put_u32(code[1] + image.l->code_version, 0);
	plan.n = 0;
	for (size_t i = 0; i < 9; i++)
		plan_add(&plan,
			 i % 4 == 0   ? FROM_C
			 : i % 3 == 0 ? GENERATOR
				      : CALL,
			 code[i % 3], (int)i * 2);
	plan.frame[5].new_chunk = true;
	if (image.l->code_version)
		image_count_codes(image.next_version);
	chain_build(&plan, &expected);
	list_words();
}

static inline uint64_t hostile_value(struct choices *c, uint64_t was)
{
	static const uint64_t values[] = {
		0,	   1,	       7,	   8,	       255,
		4096,	   65535,      65536,	   INT32_MAX,  UINT32_MAX,
		INT64_MAX, UINT64_MAX, 1ull << 62, 1ull << 63, (1ull << 62) + 1,
		-80ull};
	uint64_t x = choose(c);

	switch (x % 8) {
	case 0:
		return values[x / 8 % ARRAY_SIZE(values)];
	case 1:
	case 2:
		return words.v[x / 8 % words.n];
	case 3:
		return get_u64(words.v[x / 8 % words.n]);
	case 4:
		return was + (x / 8 % 64 - 32) * 8;
	case 5:
		return was ^ 1ull << x / 8 % 64;
	case 6:
		return (words.v[x / 8 % words.n] & ~(HOST_PAGE - 1)) + HOST_PAGE - 8 * (x >> 60);
	default:
		return x;
	}
}

/* Tells whether user space accepts the record: it refuses a str of an unknown kind. */
static inline bool is_sound(const struct rec_code *rec)
{
	for (size_t i = 0; i < CODE_TEXT_MAX; i++) {
		unsigned kind = rec->text[i].kind;

		if (kind == 3 || kind > 4)
			return false;
	}
	return true;
}

static inline void check_records(void)
{
	vec_foreach(r, &host.sent) {
		const struct rec_code *rec = (const void *)r->bytes;
		struct py_code *code = NULL;

		if (rec->type != REC_CODE)
			continue;
		host_must(!py_code_from_record(rec, r->n, host.layout.version, &code) ||
				  !is_sound(rec),
			  "a record that user space refuses");
		if (!code)
			continue;
		for (size_t i = 0; i < MIN(host.w->n, 16u); i++)
			(void)py_code_position(code, host.out->frame[i].lasti);
		py_code_free(code);
	}
}

/*
 * Changes the memory image in up to MAX_MUTATIONS places, finds the frames, sends the stack, and
 * checks the records. At the end restores the image.
 */
static inline void random_walk(struct choices *c)
{
	uint64_t at[MAX_MUTATIONS], was[MAX_MUTATIONS], x = choose(c);
	size_t n = x % MAX_MUTATIONS % (1 + x / 64 % MAX_MUTATIONS) + 1;

	host.fail_nth = x >> 56 == 1 ? 1 + (x >> 48 & 63) : 0;
	host.keep_on_fault = x >> 47 & 1;
	for (size_t i = 0; i < n; i++) {
		at[i] = words.v[choose(c) % words.n];
		was[i] = get_u64(at[i]);
		put_u64(at[i], hostile_value(c, was[i]));
	}
	image_walk();
	host_must(host.w->steps <= MAX_STEPS + 1, "too many steps");
	host_must(host.reads <= MOST_READS, "too many reads");
	host_must(!host.w->n || host.w->hash, "a stack without id");
	if (x >> 44 & 1) {
		send_stack(host.w);
		check_records();
		host_forget_sent();
	}
	while (n--)
		put_u64(at[n], was[n]);
}

static inline void random_fini(void)
{
	vec_fini(&words);
}

#endif
