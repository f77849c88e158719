/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives each name (a string, mapping, function or location) its number within an epoch (at most
 * about a day); see names.h.
 */
#include "store/sealed/names.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "store/sort.h"

#define EPOCH_MS    (24 * 3600 * (int64_t)1000)
#define EPOCH_BYTES ((size_t)16 << 20)

void names_fini(struct names *n)
{
	for (size_t i = 0; i < NAMES_TABLES; i++)
		intern_fini(&n->of[i]);
	n->epoch = 0;
}

bool names_full(const struct names *n, int64_t ms)
{
	size_t bytes = 0;

	for (size_t i = 0; i < NAMES_TABLES; i++)
		bytes += n->of[i].bytes + n->of[i].n_slots * sizeof(struct intern_slot);
	return !n->epoch || bytes >= EPOCH_BYTES || ms - n->first_ms >= EPOCH_MS ||
	       ms < n->first_ms;
}

void names_begin(struct names *n, uint64_t epoch, int64_t ms)
{
	static const size_t sizes[NAMES_TABLES] = {
		[BATCH_STRINGS] = 0,
		[BATCH_MAPPINGS] = sizeof(struct profile_mapping),
		[BATCH_FUNCTIONS] = sizeof(struct profile_function),
		[BATCH_LOCATIONS] = sizeof(struct profile_location),
	};

	names_fini(n);
	*n = (struct names){.epoch = epoch, .first_ms = ms};
	for (size_t i = 0; i < NAMES_TABLES; i++)
		intern_init(&n->of[i], sizes[i]);
}

/*
 * Changes the names' numbers in a batch to their numbers in the epoch (the time for which a name
 * keeps its number). .to: indexed by a name's number in the batch, the name's number in the epoch.
 */
struct renumbering {
	struct names *n;
	struct batch *b;
	uint32_t *to[NAMES_TABLES];
};

static void renumbering_fini(struct renumbering *x)
{
	for (size_t i = 0; i < NAMES_TABLES; i++)
		free(x->to[i]);
}

/*
 * Gives a name its number in the epoch (the time for which names keep their numbers). The name is
 * item @at of a table of the batch. Returns false if memory ran out or there are too many items.
 */
static bool number(struct renumbering *x, enum batch_table table, size_t at, const void *item,
		   size_t n)
{
	uint32_t id = intern_put(&x->n->of[table], item, n);

	x->to[table][at + 1] = id;
	return id;
}

/*
 * Items are compared as bytes, padding included. So each mapping is copied into a structure of
 * zeros.
 */
static bool number_mapping(struct renumbering *x, size_t at)
{
	const struct profile_mapping *m = &x->b->mappings.v[at];
	struct profile_mapping to;

	memset(&to, 0, sizeof(to));
	to.name = x->to[BATCH_STRINGS][m->name];
	to.build_id = x->to[BATCH_STRINGS][m->build_id];
	to.start = m->start;
	to.limit = m->limit;
	to.offset = m->offset;
	return number(x, BATCH_MAPPINGS, at, &to, sizeof(to));
}

static bool number_function(struct renumbering *x, size_t at)
{
	const uint32_t *strings = x->to[BATCH_STRINGS];
	struct profile_function f = x->b->functions.v[at];

	f.name = strings[f.name];
	f.file = strings[f.file];
	f.system_name = strings[f.system_name];
	f.made_in = strings[f.made_in];
	return number(x, BATCH_FUNCTIONS, at, &f, sizeof(f));
}

static bool number_location(struct renumbering *x, size_t at)
{
	const struct profile_location *l = &x->b->locations.v[at];
	struct profile_location to;

	memset(&to, 0, sizeof(to));
	to.mapping = x->to[BATCH_MAPPINGS][l->mapping];
	to.function = x->to[BATCH_FUNCTIONS][l->function];
	to.outer = x->to[BATCH_LOCATIONS][l->outer];
	to.line = l->line;
	to.column = l->column;
	to.end_line = l->end_line;
	to.end_column = l->end_column;
	to.address = l->address;
	return number(x, BATCH_LOCATIONS, at, &to, sizeof(to));
}
_Static_assert(sizeof(struct profile_function) == 20, "no padding");

/*
 * Gives each location its number in the epoch (the time for which names keep their numbers).
 * Locations of one function get numbers near each other, because they often have the same caller.
 * That makes the column with the nodes' locations shorter. Inlined functions come last, after the
 * locations of their callers.
 */
static bool number_locations(struct renumbering *x)
{
	size_t n = x->b->locations.n;
	_cleanup_free_ uint32_t *keys = calloc(n + 1, sizeof(*keys)), *order = NULL;
	bool ok = keys != NULL;

	for (size_t i = 0; ok && i < n; i++) {
		const struct profile_location *l = &x->b->locations.v[i];

		keys[i] = l->outer ? (uint32_t)x->b->functions.n + 1 : l->function;
	}
	ok = ok && !sort_rows(keys, sizeof(*keys), n, &order);
	for (size_t i = 0; ok && i < n; i++)
		ok = number_location(x, order[i]);
	return ok;
}

static bool number_all(struct renumbering *x)
{
	const struct batch *b = x->b;
	bool ok = true;

	for (size_t i = 0; ok && i < b->strings.n; i++)
		ok = number(x, BATCH_STRINGS, i, b->text.s ? b->text.s + b->strings.v[i].at : "",
			    b->strings.v[i].n);
	for (size_t i = 0; ok && i < b->mappings.n; i++)
		ok = number_mapping(x, i);
	for (size_t i = 0; ok && i < b->functions.n; i++)
		ok = number_function(x, i);
	return ok && number_locations(x);
}

static void refer(const struct renumbering *x)
{
	const uint32_t *strings = x->to[BATCH_STRINGS];
	struct batch *b = x->b;
	struct batch_meta *m = &b->meta;

	for (uint32_t i = 0; i < m->n_values; i++) {
		m->values[i].type = strings[m->values[i].type];
		m->values[i].unit = strings[m->values[i].unit];
	}
	m->period_type.type = strings[m->period_type.type];
	m->period_type.unit = strings[m->period_type.unit];
	vec_foreach(comment, &m->comments)
		*comment = strings[*comment];
	vec_foreach(label, &b->labels)
		*label = (struct profile_label){strings[label->key], strings[label->value]};
	vec_foreach(node, &b->nodes)
		node->location = x->to[BATCH_LOCATIONS][node->location];
}

int names_take(struct names *n, struct batch *b)
{
	_cleanup_(renumbering_fini) struct renumbering x = {.n = n, .b = b};
	const size_t sizes[NAMES_TABLES] = {b->strings.n, b->mappings.n, b->functions.n,
					    b->locations.n};

	for (size_t i = 0; i < NAMES_TABLES; i++) {
		x.to[i] = calloc(sizes[i] + 1, sizeof(*x.to[i]));
		if (!x.to[i])
			return err_nomem();
	}
	if (!number_all(&x))
		return err_nomem();
	refer(&x);
	str_clear(&b->text);
	b->strings.n = b->mappings.n = b->functions.n = b->locations.n = 0;
	for (size_t i = 0; i < NAMES_TABLES; i++)
		b->base[i] = n->of[i].n;
	b->block = true;
	return 0;
}

#define COPY(n, ret, table, member)                                                                \
	({                                                                                         \
		int _no = 0;                                                                       \
		for (uint32_t _i = (n)->written[table] + 1; !_no && _i <= (n)->of[table].n;        \
		     _i++) {                                                                       \
			const void *_at = intern_get(&(n)->of[table], _i, NULL);                   \
			_no = vec_push(&(ret)->member, *(__typeof__((ret)->member.v))_at);         \
		}                                                                                  \
		_no;                                                                               \
	})

static int copy_strings(const struct names *n, struct batch *ret)
{
	for (uint32_t i = n->written[BATCH_STRINGS] + 1; i <= n->of[BATCH_STRINGS].n; i++) {
		size_t length;
		const char *s = intern_get(&n->of[BATCH_STRINGS], i, &length);
		struct batch_string string = {(uint32_t)ret->text.n, (uint32_t)length};

		str_add_n(&ret->text, s, length);
		if (vec_push(&ret->strings, string))
			return -ENOMEM;
	}
	return ret->text.failed ? -ENOMEM : 0;
}

int names_new(const struct names *n, struct batch *ret)
{
	int r = copy_strings(n, ret);

	r = r ? r : COPY(n, ret, BATCH_MAPPINGS, mappings);
	r = r ? r : COPY(n, ret, BATCH_FUNCTIONS, functions);
	r = r ? r : COPY(n, ret, BATCH_LOCATIONS, locations);
	memcpy(ret->base, n->written, sizeof(n->written));
	ret->meta.n_values = 1;
	return r ? err_nomem() : 0;
}

bool names_are_new(const struct names *n)
{
	bool new = false;

	for (size_t i = 0; i < NAMES_TABLES; i++)
		new |= n->written[i] != n->of[i].n;
	return new;
}

void names_written(struct names *n)
{
	n->sequence += names_are_new(n);
	for (size_t i = 0; i < NAMES_TABLES; i++)
		n->written[i] = n->of[i].n;
}
