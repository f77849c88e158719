/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads columns that batch_encode() wrote. The bytes may be anything, so every number is checked
 * before it is used. Each definition and sample takes at least one byte of some column. So memory
 * and time are bounded by the number of bytes.
 */
#include "base/error.h"
#include "base/nomem.h"
#include "store/columns.h"

#define MAX_SET 256 /* the most labels that a label set may have; krait's samples have about ten */

enum count {
	COUNT_VALUES,
	COUNT_STRINGS,
	COUNT_MAPPINGS,
	COUNT_FUNCTIONS,
	COUNT_LOCATIONS,
	COUNT_SETS,
	COUNT_NODES,
	COUNT_RUNS,
	COUNT_SAMPLES,
	COUNTS
};

struct decoder {
	struct batch *b;
	bool block;
	/* the bytes of a sample's numbers are spread over several columns (COLUMN_SPREAD) */
	bool spread;
	struct column_cursor columns[COLUMNS];
	uint64_t n[COUNTS];
};

static int damaged(const char *what)
{
	return err_set(-EBADMSG, "%s", what);
}

static inline int get(struct column_cursor *c, uint64_t *ret)
{
	return column_get(c, ret) ? 0 : damaged("a column ends too early");
}

static inline int get_small(struct column_cursor *c, uint64_t most, uint32_t *ret)
{
	uint64_t v;
	int r = get(c, &v);

	if (r)
		return r;
	*ret = (uint32_t)v;
	return v > MIN(most, (uint64_t)UINT32_MAX) ? damaged("a number is out of range") : 0;
}

static inline int get_signed(struct column_cursor *c, int64_t *ret)
{
	uint64_t v = 0;
	int r = get(c, &v);

	*ret = column_unfold(v);
	return r;
}

/*
 * Reads a number. Its first byte is in column @first, its second byte in column @second, and all
 * other bytes are in the column after @second.
 */
static int get_spread(struct decoder *d, enum column first, enum column second, int64_t *ret)
{
	uint64_t low = 0, high = 0;
	struct column_cursor *c = &d->columns[first];
	int r;

	if (!d->spread || c->at == c->end || *c->at < 0x80)
		return get_signed(c, ret);
	low = *c->at++ & 0x7f;
	c = &d->columns[second];
	if (c->at == c->end)
		return damaged("a column ends too early");
	low |= (uint64_t)(*c->at & 0x7f) << 7;
	r = *c->at++ < 0x80 ? 0 : get(&d->columns[second + 1], &high);
	*ret = column_unfold(low | high << 14);
	return r;
}

/* How many definitions table @table has so far: the highest number that may refer to one. */
static uint32_t table_size(const struct batch *b, enum batch_table table)
{
	const size_t n[] = {[BATCH_STRINGS] = b->strings.n,	[BATCH_MAPPINGS] = b->mappings.n,
			    [BATCH_FUNCTIONS] = b->functions.n, [BATCH_LOCATIONS] = b->locations.n,
			    [BATCH_SETS] = b->sets.n,		[BATCH_NODES] = b->nodes.n};

	return table == BATCH_TABLES ? UINT32_MAX : (uint32_t)n[table];
}

static int get_member(struct decoder *d, const struct column_member *m, uint8_t *rows, size_t row,
		      size_t n)
{
	struct column_cursor c = d->columns[m->column];
	uint32_t most = table_size(d->b, m->of);
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t *at = rows + i * row + m->offset;
		int64_t more;
		uint32_t small;
		int r = get_signed(&c, &more);

		if (r)
			return r;
		v += (uint64_t)more;
		small = (uint32_t)v;
		if (m->size == sizeof(v))
			memcpy(at, &v, sizeof(v));
		else
			memcpy(at, &small, sizeof(small));
		if (m->size != sizeof(v) && (v != small || small > most || (m->needed && !small)))
			return damaged("a definition refers to a definition that isn't there");
	}
	d->columns[m->column] = c;
	return 0;
}

/* Reads the columns of a table into @rows, which has room for @n new rows. */
static int get_table(struct decoder *d, const struct column_table *t, void *rows, size_t n)
{
	int r = 0;

	if (n)
		memset(rows, 0, n * t->row);
	for (size_t i = 0; !r && i < t->n; i++)
		r = get_member(d, &t->members[i], rows, t->row, n);
	return r;
}

/*
 * Makes room in @vec for @more rows. Each row takes at least a byte of @column, so if the count is
 * higher than the number of bytes left, the data are damaged.
 */
#define ROOM(d, vec, more, column)                                                                 \
	(left(d, column) < (more)	       ? damaged("a column is too short")                  \
	 : vec_reserve(vec, (vec)->n + (more)) ? err_nomem()                                       \
					       : 0)

static size_t left(const struct decoder *d, enum column column)
{
	return (size_t)(d->columns[column].end - d->columns[column].at);
}

static int get_strings(struct decoder *d)
{
	struct batch *b = d->b;
	struct column_cursor *bytes = &d->columns[COLUMN_STRING_BYTES];
	int r = ROOM(d, &b->strings, d->n[COUNT_STRINGS], COLUMN_STRING_LENGTH);

	for (uint64_t i = 0; !r && i < d->n[COUNT_STRINGS]; i++) {
		struct batch_string s = {.at = (uint32_t)b->text.n};

		r = get_small(&d->columns[COLUMN_STRING_LENGTH], (uint64_t)(bytes->end - bytes->at),
			      &s.n);
		if (r)
			return r;
		str_add_n(&b->text, bytes->at, s.n);
		bytes->at += s.n;
		b->strings.v[b->strings.n++] = s;
	}
	if (!r && b->text.n > BATCH_MAX_BYTES)
		r = damaged("the strings are too long");
	return r ? r : b->text.failed ? err_nomem() : 0;
}

/*
 * Reads @more rows of a table. The rows count as part of the table before they are read, because
 * they may refer to each other.
 */
#define GET_TABLE(d, member, more, column)                                                         \
	({                                                                                         \
		struct batch *_b = (d)->b;                                                         \
		size_t _first = _b->member.n, _more = (more);                                      \
		int _r = ROOM(d, &_b->member, _more, column);                                      \
		_b->member.n += _r ? 0 : _more;                                                    \
		_r ?: get_table(d, &column_##member, _b->member.v + _first, _more);                \
	})

/*
 * Reads the locations. A function that was inlined refers to its caller's location, which must come
 * before and have the same address.
 */
static int get_locations(struct decoder *d)
{
	struct batch *b = d->b;
	size_t first = b->locations.n;
	int r = GET_TABLE(d, locations, d->n[COUNT_LOCATIONS], COLUMN_LOCATION_MAPPING);

	for (size_t i = first; !r && i < b->locations.n; i++) {
		const struct profile_location *l = &b->locations.v[i];
		const struct profile_location *outer =
			l->outer && l->outer <= i ? &b->locations.v[l->outer - 1] : NULL;

		if (l->outer &&
		    (!outer || outer->mapping != l->mapping || outer->address != l->address))
			r = damaged("an inlined function has another address than its caller");
	}
	return r;
}

static int get_nodes(struct decoder *d)
{
	struct batch *b = d->b;
	size_t first = b->nodes.n;
	int r = GET_TABLE(d, nodes, d->n[COUNT_NODES], COLUMN_NODE_PARENT);

	for (size_t i = first; !r && i < b->nodes.n; i++)
		if (b->nodes.v[i].parent > i)
			r = damaged("a node comes before its parent");
	return r;
}

/*
 * Reads a block's nodes. The parent of each is the root, the preceding node, or a node above that
 * one.
 */
static int get_steps(struct decoder *d)
{
	struct batch *b = d->b;
	int r = ROOM(d, &b->nodes, d->n[COUNT_NODES], COLUMN_NODE_UP);

	for (uint32_t i = 0; !r && i < d->n[COUNT_NODES]; i++) {
		struct column_step at;
		int64_t step = 0;
		uint32_t up;

		r = get_small(&d->columns[COLUMN_NODE_UP], i, &up);
		r = r ? r : get_signed(&d->columns[COLUMN_NODE_STEP], &step);
		if (r)
			return r;
		at = column_step(b->nodes.v, i, up, 0);
		step = (int64_t)((uint64_t)step + at.location);
		if (at.up != up || step < 1 || (uint64_t)step > b->locations.n)
			return damaged("a node refers to a location that isn't there");
		b->nodes.v[b->nodes.n++] = (struct batch_node){at.parent, (uint32_t)step};
	}
	return r;
}

static int get_sets(struct decoder *d)
{
	struct batch *b = d->b;
	int64_t number = 0, more;
	int r = 0;

	for (uint64_t i = 0; !r && i < d->n[COUNT_SETS]; i++) {
		struct batch_set set = {.at = (uint32_t)b->labels.n};

		r = get_signed(&d->columns[COLUMN_SET_NUMBER], &more);
		r = r ? r : get_small(&d->columns[COLUMN_SET_SIZE], MAX_SET, &set.n);
		r = r ? r : GET_TABLE(d, labels, set.n, COLUMN_LABEL_KEY);
		if (r)
			return r;
		number = (int64_t)((uint64_t)number + (uint64_t)more);
		if (number < 1 || number > (int64_t)b->sets.n + 1)
			return damaged("a label set has a wrong number");
		set.number = (uint32_t)number;
		if (set.number <= b->sets.n)
			b->sets.v[set.number - 1] = set;
		else if (vec_push(&b->sets, set))
			return err_nomem();
	}
	return r;
}

static int get_values(struct decoder *d)
{
	uint64_t has;
	int r = get(&d->columns[COLUMN_SAMPLE_HAS], &has);

	if (!r && has >> d->b->meta.n_values)
		r = damaged("a sample has more values than the frame or block");
	for (uint32_t i = 0; !r && i < d->b->meta.n_values; i++) {
		int64_t *v = &d->b->values.v[d->b->values.n++];

		*v = 0;
		if (has >> i & 1)
			r = get_signed(&d->columns[COLUMN_VALUE + i], v);
	}
	return r;
}

struct before {
	uint64_t ms, node;
};

static int get_sample(struct decoder *d, struct before *before, uint32_t labels)
{
	struct batch *b = d->b;
	int64_t ms = 0, node = 0;
	int r = get_spread(d, COLUMN_SAMPLE_TIME, COLUMN_SAMPLE_TIME_2, &ms);

	r = r ? r : get_spread(d, COLUMN_SAMPLE_NODE, COLUMN_SAMPLE_NODE_2, &node);
	r = r ? r : get_values(d);
	before->ms += (uint64_t)ms;
	before->node = (uint64_t)node + (d->block ? 0 : before->node);
	if (!r && before->node > b->nodes.n)
		r = damaged("a sample refers to a stack that isn't there");
	b->samples.v[b->samples.n++] =
		(struct batch_sample){(int64_t)before->ms, (uint32_t)before->node, labels};
	return r;
}

static int get_samples(struct decoder *d)
{
	struct batch *b = d->b;
	uint64_t todo = d->n[COUNT_SAMPLES];
	struct before before = {};
	int r = ROOM(d, &b->samples, todo, COLUMN_SAMPLE_TIME);

	if (!r && vec_reserve(&b->values, b->values.n + todo * b->meta.n_values))
		r = err_nomem();
	for (uint64_t i = 0; !r && i < d->n[COUNT_RUNS]; i++) {
		uint32_t labels, n;

		r = get_small(&d->columns[COLUMN_RUN_LABELS], b->sets.n, &labels);
		r = r ? r : get_small(&d->columns[COLUMN_RUN_SIZE], todo, &n);
		for (uint32_t k = 0; !r && k < n; k++)
			r = get_sample(d, &before, labels);
		todo -= r ? 0 : n;
	}
	return r ? r : todo ? damaged("samples are missing") : 0;
}

static int get_comments(struct decoder *d)
{
	struct batch_meta *m = &d->b->meta;
	struct column_cursor *c = &d->columns[COLUMN_META];
	uint32_t n, comment;
	int r = get_small(c, BATCH_MAX_COMMENTS, &n);

	for (uint32_t i = 0; !r && i < n; i++) {
		r = get_small(c, d->b->strings.n, &comment);
		if (!r && vec_push(&m->comments, comment))
			r = err_nomem();
	}
	return r;
}

static int get_meta(struct decoder *d)
{
	struct batch_meta *m = &d->b->meta;
	struct column_cursor *c = &d->columns[COLUMN_META];
	size_t strings = d->b->strings.n;
	int r = 0;

	for (uint32_t i = 0; !r && i < m->n_values; i++) {
		r = get_small(c, strings, &m->values[i].type);
		r = r ? r : get_small(c, strings, &m->values[i].unit);
	}
	r = r ? r : get_small(c, m->n_values - 1, &m->default_value);
	r = r ? r : get_small(c, strings, &m->period_type.type);
	r = r ? r : get_small(c, strings, &m->period_type.unit);
	r = r ? r : get_signed(c, &m->period);
	return r ? r : get_comments(d);
}

static int get_figures(struct column_cursor *c, int64_t figures[BATCH_FIGURES])
{
	uint64_t n = 0;
	int64_t v;
	int r = get(c, &n);

	for (uint64_t i = 0; !r && i < n; i++) {
		r = get_signed(c, &v);
		if (!r && i < BATCH_FIGURES)
			figures[i] = v;
	}
	return r;
}

/*
 * Tells whether the numbers of a frame's definitions in @table follow those of @b without a gap. A
 * block may also refer to fewer names than @b has.
 */
static bool follows(const struct decoder *d, enum batch_table table, uint32_t base)
{
	uint32_t have = table_size(d->b, table);

	return d->block ? base <= have : base == have;
}

/*
 * Reads how many rows each table has, at which number each begins, and the agent's counters.
 * *first: this frame or block also has the column that says what the values mean.
 */
static int get_head(struct decoder *d, bool *first)
{
	struct column_cursor *c = &d->columns[COLUMN_HEAD];
	uint32_t base, n_values = d->b->meta.n_values;
	int r = 0;

	*first = d->block || !d->b->strings.n;
	for (size_t i = 0; !r && i < COUNTS; i++)
		r = get(c, &d->n[i]);
	for (enum batch_table i = 0; !r && i < BATCH_TABLES; i++) {
		r = get_small(c, UINT32_MAX, &base);
		if (!r && !follows(d, i, base))
			r = damaged(d->block ? "names that the block needs are missing"
					     : "an earlier frame is missing");
	}
	r = r ? r : get_figures(c, d->b->figures);
	if (!r && (d->n[COUNT_VALUES] < 1 || d->n[COUNT_VALUES] > PROFILE_MAX_VALUES ||
		   (!*first && d->n[COUNT_VALUES] != n_values)))
		r = damaged("the number of values is wrong");
	if (!r && d->n[COUNT_SAMPLES] >
			  BATCH_MAX_SAMPLES - MIN(d->b->samples.n, (size_t)BATCH_MAX_SAMPLES))
		r = damaged("there are too many samples");
	d->b->meta.n_values = r ? 0 : (uint32_t)d->n[COUNT_VALUES];
	return r;
}

/*
 * Finds where each column begins and ends. Columns that a later version of krait added are skipped.
 */
static int split(struct decoder *d, const uint8_t *data, size_t n)
{
	struct column_cursor all = {data, data + n}, lengths;
	uint64_t columns, length, skip = 0;
	int r = n > BATCH_MAX_BYTES ? damaged("the data is too long") : get(&all, &columns);

	lengths = all;
	for (uint64_t i = 0; !r && i < columns; i++)
		r = get(&all, &skip);
	for (uint64_t i = 0; !r && i < columns; i++) {
		r = get(&lengths, &length);
		if (!r && length > (uint64_t)(all.end - all.at))
			r = damaged("a column is longer than the data");
		if (!r && i < COLUMNS)
			d->columns[i] = (struct column_cursor){all.at, all.at + length};
		d->spread |= i >= COLUMN_SPREAD;
		all.at += r ? 0 : length;
	}
	return r;
}

static int get_names(struct decoder *d)
{
	int r = GET_TABLE(d, mappings, d->n[COUNT_MAPPINGS], COLUMN_MAPPING_NAME);

	r = r ? r : GET_TABLE(d, functions, d->n[COUNT_FUNCTIONS], COLUMN_FUNCTION_NAME);
	return r ? r : get_locations(d);
}

/* Refuses a block that defines names, because names are defined in the rows of table names only. */
static int check_block(const struct decoder *d)
{
	uint64_t names = d->n[COUNT_STRINGS] | d->n[COUNT_MAPPINGS] | d->n[COUNT_FUNCTIONS] |
			 d->n[COUNT_LOCATIONS];

	return d->block && names ? damaged("a block defines names") : 0;
}

static int decode(struct decoder *d, const void *data, size_t n)
{
	bool first;
	int r = split(d, data, n);

	r = r ? r : get_head(d, &first);
	r = r ? r : check_block(d);
	r = r ? r : get_strings(d);
	if (!r && first)
		r = get_meta(d);
	r = r ? r : get_names(d);
	r = r ? r : get_sets(d);
	r = r ? r : d->block ? get_steps(d) : get_nodes(d);
	return r ? r : get_samples(d);
}

int batch_decode(struct batch *b, const void *data, size_t n)
{
	return decode(&(struct decoder){.b = b}, data, n);
}

int batch_decode_block(struct batch *b, const void *data, size_t n)
{
	batch_forget_block(b);
	return decode(&(struct decoder){.b = b, .block = true}, data, n);
}

int batch_read_figures(const void *data, size_t n, int64_t figures[BATCH_FIGURES])
{
	struct decoder d = {};
	struct column_cursor *c = &d.columns[COLUMN_HEAD];
	uint64_t skip;
	int r = split(&d, data, n);

	for (size_t i = 0; !r && i < COUNTS + BATCH_TABLES; i++)
		r = get(c, &skip);
	return r ? r : get_figures(c, figures);
}
