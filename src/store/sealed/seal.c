/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seals segments: divides a segment into one block per service, and moves its names into the tables
 * of the epoch (the time, at most about a day, for which names keep their numbers). So a query for
 * one service reads little, and a name is written once a day.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "store/internal.h"

#define INSERT_NAMES "INSERT INTO names (id, first_ms, last_ms, samples, body) VALUES (?,?,?,?,?)"
#define INSERT_BLOCK                                                                               \
	"INSERT INTO block (id, first_ms, last_ms, samples, body, tier, service, epoch) "          \
	"VALUES (?,?,?,?,?,?,?,?)"

/*
 * The most blocks of a segment. If there are more services, the samples of the further ones go to
 * block 0, which also has the samples without a service.
 */
#define MOST_BLOCKS   250
#define SERVICE_BYTES 256 /* samples of a service with a longer name go to block 0 */

/* Says to which block of the segment the samples with a label set go. */
struct parts {
	/*
	 * indexed by block: the number of the name of its service; 0: the block has several
	 * services, or none
	 */
	VEC(uint32_t) services;
	/* indexed by a label set's number (0: the empty set): the number of its block */
	uint32_t *block;
};

static void parts_fini(struct parts *p)
{
	vec_fini(&p->services);
	free(p->block);
}

static const char *string_of(const struct names *n, uint32_t number, size_t *length)
{
	return number ? intern_get(&n->of[BATCH_STRINGS], number, length) : "";
}

/*
 * Returns the number of the string that is the service's name in a label set; 0: the set has no
 * service.
 */
static uint32_t service_of(const struct names *n, const struct batch *b,
			   const struct batch_set *set)
{
	for (uint32_t i = 0; i < set->n; i++) {
		const struct profile_label *l = &b->labels.v[set->at + i];
		size_t length;

		if (!streq(string_of(n, l->key, &length), STORE_SERVICE_KEY))
			continue;
		(void)string_of(n, l->value, &length);
		return length && length <= SERVICE_BYTES ? l->value : 0;
	}
	return 0;
}

static int block_of(struct parts *p, uint32_t service, uint32_t *ret)
{
	for (uint32_t i = 0; i < p->services.n; i++)
		if (p->services.v[i] == service) {
			*ret = i;
			return 0;
		}
	if (p->services.n >= MOST_BLOCKS) {
		*ret = 0;
		return 0;
	}
	*ret = (uint32_t)p->services.n;
	return vec_push(&p->services, service);
}

/* Gives each service a block. Block 0 is for samples without a service. */
static int divide(const struct names *n, const struct batch *b, struct parts *p)
{
	int r = vec_push(&p->services, 0);

	p->block = calloc(b->sets.n + 1, sizeof(*p->block));
	if (!p->block || r)
		return err_nomem();
	for (size_t i = 0; !r && i < b->sets.n; i++)
		r = block_of(p, service_of(n, b, &b->sets.v[i]), &p->block[i + 1]);
	return r ? err_nomem() : 0;
}

/*
 * A block that is being made, with a part of a segment's samples. In the segment's batch a node
 * comes before the nodes below it.
 */
struct part {
	const struct batch *from;
	struct batch to;
	/* indexed by number in the segment: the number in the block; 0: not in the block */
	uint32_t *nodes, *sets;
	struct blob_place place;
	int64_t end_ms; /* when the segment ends */
	/*
	 * index of the value lock_blame, whose samples have the time at which a wait ended; -1:
	 * there is no such value
	 */
	int blame;
};

static void part_fini(struct part *p)
{
	batch_fini(&p->to);
	free(p->nodes);
	free(p->sets);
}

/* Marks a node and all nodes above it as needed by the block. */
static void mark(struct part *p, uint32_t node)
{
	for (; node && !p->nodes[node]; node = p->from->nodes.v[node - 1].parent)
		p->nodes[node] = 1;
}

static int copy_nodes(struct part *p)
{
	const struct batch *from = p->from;

	for (uint32_t i = 1; i <= from->nodes.n; i++) {
		const struct batch_node *node = &from->nodes.v[i - 1];
		struct batch_node to = {p->nodes[node->parent], node->location};

		if (!p->nodes[i])
			continue;
		if (vec_push(&p->to.nodes, to))
			return -ENOMEM;
		p->nodes[i] = (uint32_t)p->to.nodes.n;
	}
	return 0;
}

static int copy_set(struct part *p, uint32_t number)
{
	const struct batch_set *set = &p->from->sets.v[number - 1];
	struct batch_set to = {(uint32_t)p->to.sets.n + 1, (uint32_t)p->to.labels.n, set->n};
	int r = 0;

	for (uint32_t i = 0; !r && i < set->n; i++)
		r = vec_push(&p->to.labels, p->from->labels.v[set->at + i]);
	p->sets[number] = to.number;
	return r ? r : vec_push(&p->to.sets, to);
}

/*
 * Returns when sample @at ends, if it is a wait. The times of a block include the ends of its
 * waits, so that a query for the last part of a wait reads the block. A sample's values may also be
 * numbers that aren't durations. So the result is limited to the segment's end.
 */
static int64_t end_of(const struct part *p, size_t at)
{
	const struct batch *from = p->from;
	const int64_t *values = from->values.v + at * from->meta.n_values;
	int64_t ms = from->samples.v[at].ms, longest = 0;

	for (uint32_t i = 0; i < from->meta.n_values; i++)
		longest = MAX(longest, values[i]);
	longest /= (int64_t)NSEC_PER_MSEC;
	return ms + MIN(longest, MAX(p->end_ms - ms, 0));
}

static int64_t begin_of(const struct part *p, size_t at)
{
	const struct batch *from = p->from;
	int64_t ms = from->samples.v[at].ms;
	int64_t ns = p->blame < 0 ? 0 : from->values.v[at * from->meta.n_values + (size_t)p->blame];

	return ns > 0 ? MAX(ms - ns / (int64_t)NSEC_PER_MSEC - 1, 0) : ms;
}

static int copy_sample(struct part *p, size_t at)
{
	const struct batch *from = p->from;
	struct batch_sample s = from->samples.v[at];
	struct batch *to = &p->to;
	uint32_t n = from->meta.n_values;
	int r = 0;

	if (s.labels && !p->sets[s.labels])
		r = copy_set(p, s.labels);
	p->place.first_ms = MIN(to->samples.n ? p->place.first_ms : s.ms, begin_of(p, at));
	p->place.last_ms = MAX(to->samples.n ? p->place.last_ms : s.ms, end_of(p, at));
	s.labels = p->sets[s.labels];
	r = r ? r : vec_push(&to->samples, s);
	if (r || vec_reserve(&to->values, to->values.n + n))
		return -ENOMEM;
	memcpy(to->values.v + to->values.n, from->values.v + at * n, n * sizeof(int64_t));
	to->values.n += n;
	return 0;
}

/*
 * Copies the samples of block @block and the nodes that they need. A copied sample keeps its node's
 * number in the segment until the nodes are copied too. Then it gets the number in the block.
 */
static int copy_samples(struct part *p, const struct parts *parts, uint32_t block)
{
	const struct batch *from = p->from;
	int r = 0;

	for (size_t i = 0; !r && i < from->samples.n; i++) {
		if (parts->block[from->samples.v[i].labels] != block)
			continue;
		mark(p, from->samples.v[i].node);
		r = copy_sample(p, i);
	}
	r = r ? r : copy_nodes(p);
	vec_foreach(s, &p->to.samples)
		s->node = p->nodes[s->node];
	return r;
}

static int make_part(struct part *p, const struct parts *parts, uint32_t block)
{
	const struct batch *from = p->from;
	struct batch *to = &p->to;

	p->nodes = calloc(from->nodes.n + 1, sizeof(*p->nodes));
	p->sets = calloc(from->sets.n + 1, sizeof(*p->sets));
	if (!p->nodes || !p->sets)
		return err_nomem();
	to->block = true;
	memcpy(to->base, from->base, NAMES_TABLES * sizeof(*to->base));
	memcpy(to->figures, from->figures, sizeof(to->figures));
	to->meta = from->meta;
	to->meta.comments.v = NULL;
	to->meta.comments.n = to->meta.comments.cap = 0;
	vec_foreach(comment, &from->meta.comments)
		if (vec_push(&to->meta.comments, *comment))
			return err_nomem();
	return copy_samples(p, parts, block) ? err_nomem() : 0;
}

int store_insert_block(struct store *s, enum store_tier tier, sqlite3_int64 id,
		       struct blob_place *place, struct batch *b, const char *service,
		       uint64_t epoch)
{
	_cleanup_str_ struct str columns = {}, blob = {};
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = batch_encode(b, &columns);

	*place = (struct blob_place){.segment = (uint64_t)id,
				     .sequence = store_service_hash(service),
				     .samples = (uint32_t)b->samples.n,
				     .first_ms = place->first_ms,
				     .last_ms = place->last_ms};
	r = r ? r : blob_pack(place, columns.s, columns.n, BLOB_SMALL, &blob);
	r = r ? r : store_prepare(s, INSERT_BLOCK, &stmt);
	if (r)
		return r;
	store_bind_row(stmt, id, place, &blob);
	sqlite3_bind_int64(stmt, 6, tier);
	sqlite3_bind_text(stmt, 7, service, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 8, (sqlite3_int64)epoch);
	return store_error(s, sqlite3_step(stmt), "write");
}

static int find_blame(const struct names *n, const struct batch *b)
{
	size_t length;

	for (uint32_t i = 0; i < b->meta.n_values; i++)
		if (streq(string_of(n, b->meta.values[i].type, &length), "lock_blame"))
			return (int)i;
	return -1;
}

static int insert_part(struct store *s, const struct batch *b, const struct parts *parts,
		       uint32_t block, const struct blob_place *segment)
{
	_cleanup_(part_fini) struct part p = {
		.from = b, .end_ms = segment->last_ms, .blame = find_blame(&s->names, b)};
	size_t length;
	int r = make_part(&p, parts, block);

	if (r || !p.to.samples.n)
		return r;
	return store_insert_block(s, STORE_EXACT, STORE_FRAME(segment->segment, block), &p.place,
				  &p.to, string_of(&s->names, parts->services.v[block], &length),
				  s->names.epoch);
}

int store_insert_names(struct store *s, const struct names *n, int64_t ms)
{
	__attribute__((cleanup(batch_fini))) struct batch b = {};
	_cleanup_str_ struct str columns = {}, blob = {};
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	struct blob_place place = {
		.segment = n->epoch, .sequence = n->sequence, .first_ms = ms, .last_ms = ms};
	int r = names_are_new(n) ? names_new(n, &b) : 1;

	if (r > 0)
		return 0;
	r = r ? r : batch_encode(&b, &columns);
	r = r ? r : blob_pack(&place, columns.s, columns.n, BLOB_SMALL, &blob);
	r = r ? r : store_prepare(s, INSERT_NAMES, &stmt);
	if (r)
		return r;
	store_bind_row(stmt, STORE_FRAME(n->epoch, n->sequence), &place, &blob);
	return store_error(s, sqlite3_step(stmt), "write");
}

/*
 * Replaces the segment's frames by blocks, in one transaction: readers see either all frames or all
 * blocks.
 */
static int replace(struct store *s, const struct batch *b, const struct parts *parts,
		   const struct blob_place *place, const struct totals *totals)
{
	int r = store_exec(s, "BEGIN IMMEDIATE", "write");

	r = r ? r : store_insert_names(s, &s->names, place->first_ms);
	for (uint32_t i = 0; !r && i < parts->services.n; i++)
		r = insert_part(s, b, parts, i, place);
	r = r ? r : store_write_totals(s, totals);
	r = r ? r : store_remove_frames(s, place->segment);
	r = r ? r : store_exec(s, "COMMIT", "write");
	if (!r)
		names_written(&s->names);
	return store_undo(s, r);
}

int store_begin_names(struct store *s, struct names *n, int64_t ms)
{
	uint64_t mine = MAX(s->names.epoch, s->outline.epoch);
	int64_t last;
	int r = store_number(s, "SELECT max(id) FROM names", &last);

	mine = MAX(mine, s->parts.epoch);
	if (!r)
		names_begin(n, MAX((uint64_t)last >> STORE_SEQUENCE_BITS, mine) + 1, ms);
	return r;
}

static int divide_and_replace(struct store *s, struct batch *b, const struct blob_place *place)
{
	_cleanup_(totals_fini) struct totals totals = {};
	_cleanup_(parts_fini) struct parts parts = {};
	int r = names_full(&s->names, place->first_ms)
			? store_begin_names(s, &s->names, place->first_ms)
			: 0;

	r = r ? r : store_sealed_totals(s, &totals);
	r = r ? r : totals_add(&totals, b);
	r = r ? r : names_take(&s->names, b);
	r = r ? r : batch_order(b);
	r = r ? r : divide(&s->names, b, &parts);
	return r ? r : replace(s, b, &parts, place, &totals);
}

int store_seal(struct store *s, uint64_t segment)
{
	__attribute__((cleanup(batch_fini))) struct batch b = {};
	struct blob_place place;
	int r = store_bound_log(s) ?: store_read_frames(s, segment, &b, &place);

	if (r > 0)
		log_warn("%s", err_msg());
	if (r < 0)
		return r;
	return place.sequence ? divide_and_replace(s, &b, &place) : store_remove_frames(s, segment);
}

int store_seal_rest(struct store *s)
{
	uint64_t segment = 0;
	int r;

	while ((r = store_next_unsealed(s, &segment)) > 0) {
		r = store_seal(s, segment++);
		if (r)
			break;
	}
	return r;
}
