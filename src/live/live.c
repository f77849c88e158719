/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds samples to the rows of the table; see live.h. Samples of an interval with the same stack and
 * thread are first summed up, and only the sums are added to rows. So each sample costs only one
 * look-up in a hash table.
 */
#include "live/live.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "view/waits/waits.h"

static void take_keys(struct live *l)
{
	l->key_pid = profile_string(l->p, "pid");
	l->key_tid = profile_string(l->p, "tid");
	l->key_gil = profile_string(l->p, "gil");
	l->key_state = profile_string(l->p, "state");
}

struct live *live_new(struct profile *p, const struct view_options *filter)
{
	unsigned n_values = profile_meta(p)->n_values;
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->p = p;
	l->filter = filter && view_wanted(filter) ? filter : NULL;
	l->by = filter ? filter->by : NULL;
	intern_init(&l->texts, 0);
	l->value = profile_meta(p)->default_value;
	l->waits = profile_time_value(p, "off_cpu");
	l->gil_wait = profile_time_value(p, "gil_wait");
	l->gil_blame = profile_time_value(p, "gil_blame");
	live_gil_clear(l);
	take_keys(l);
	sums_init(&l->now, n_values);
	sums_init(&l->last, n_values);
	sums_init(&l->since, n_values);
	sums_init(&l->merged, n_values);
	map_init(&l->index);
	return l;
}

/* Drops everything that is indexed by the profile's ids. */
static void forget_known(struct live *l)
{
	if (l->select.o)
		select_fini(&l->select);
	l->select = (struct select){};
	l->selected_locations = l->selected_labels = 0;
	intern_fini(&l->texts);
	intern_init(&l->texts, 0);
	vec_fini(&l->modules);
	render_names_free(l->names);
	l->names = NULL;
	vec_fini(&l->who);
	l->first_pid = 0;
}

static void drop_first(struct live *l)
{
	sums_fini(&l->parts.v[0].sums);
	l->parts.n--;
	memmove(l->parts.v, l->parts.v + 1, l->parts.n * sizeof(*l->parts.v));
}

static void clear_parts(struct live *l)
{
	while (l->parts.n)
		drop_first(l);
	sums_clear(&l->merged);
}

void live_free(struct live *l)
{
	if (!l)
		return;
	sums_fini(&l->now);
	sums_fini(&l->last);
	sums_fini(&l->since);
	clear_parts(l);
	vec_fini(&l->parts);
	sums_fini(&l->merged);
	forget_known(l);
	live_open_fini(&l->open);
	gil_pairs_fini(&l->gil);
	gil_pairs_fini(&l->gil_now);
	vec_fini(&l->scratch);
	vec_fini(&l->rows);
	map_fini(&l->index);
	free(l);
}

/*
 * Applies the user's filter words again if the profile has new locations or label sets, because the
 * filter looks at these.
 */
static int select_again(struct live *l)
{
	size_t locations = profile_n_locations(l->p), labels = profile_n_labels(l->p);

	/*
	 * A filter by thread names is always applied again, because a thread may have got its name
	 * since the last time.
	 */
	if (!l->filter || (!l->filter->threads.n && l->selected_locations == locations &&
			   l->selected_labels == labels))
		return 0;
	if (l->select.o)
		select_fini(&l->select);
	l->selected_locations = locations;
	l->selected_labels = labels;
	return select_init(&l->select, l->p, l->filter);
}

static uint64_t key_of_who(const struct live_who *who, enum live_table table)
{
	if (table == LIVE_BY)
		return who->text;
	return table == LIVE_THREADS ? (uint64_t)who->pid << 32 | who->tid : who->pid;
}

/* Returns the row with @key. Adds it if it is new. NULL: there is no room for it. */
static struct live_row *row_of(struct live *l, uint64_t key, uint32_t location, uint32_t labels)
{
	const uint64_t *i = map_get(&l->index, key);
	struct live_row row = {.key = key, .location = location};
	struct live_row *found;

	if (!i) {
		if (l->rows.n >= LIVE_MAX_ROWS || vec_push(&l->rows, row))
			return NULL;
		if (map_put(&l->index, key, l->rows.n)) {
			l->rows.n--;
			return NULL;
		}
	}
	found = &l->rows.v[i ? *i - 1 : l->rows.n - 1];
	if (found->tick != l->tick) {
		found->tick = l->tick;
		found->self[LIVE_RECENT] = found->total[LIVE_RECENT] = (struct live_count){};
		memset(found->states, 0, sizeof(found->states));
	}
	/*
	 * the row's name comes from the latest labels, because a process may have got another name
	 */
	found->labels = labels;
	return found;
}

static void add_count(struct live_count *to, const struct live_count *n)
{
	to->samples += n->samples;
	to->value += n->value;
	to->running += n->running;
	to->held += n->held;
	to->known += n->known;
	to->gc += n->gc;
}

/* A sum of samples that is being added to rows, and the spans of time for which it counts. */
struct fold {
	struct live *l;
	bool spans[LIVE_SPANS];
	struct live_count n;
	uint32_t labels;
};

static void add_row(struct fold *f, uint64_t key, uint32_t location, bool self)
{
	struct live_row *row = row_of(f->l, key, location, f->labels);

	if (!row) {
		f->l->no_row++;
		return;
	}
	for (unsigned i = 0; i < LIVE_SPANS; i++) {
		if (!f->spans[i])
			continue;
		if (self)
			add_count(&row->self[i], &f->n);
		if (row->turn != f->l->turn)
			add_count(&row->total[i], &f->n);
	}
	if (f->spans[LIVE_RECENT] && row->turn != f->l->turn)
		row->states[live_who(f->l, f->labels)->state] += f->n.value;
	row->turn = f->l->turn;
}

static void add_frames(struct fold *f, uint32_t stack)
{
	size_t n;
	const uint32_t *loc = live_stack(f->l, stack, &n);

	for (size_t i = 0; i < n; i++)
		add_row(f, live_key(f->l, f->l->table, loc[i]), loc[i], i == 0);
}

/* Tells whether the stack is in the garbage collector. Hidden frames are looked at too. */
static bool is_gc(struct live *l, uint32_t stack)
{
	size_t n = 0;
	const uint32_t *loc = stack ? profile_get_stack(l->p, stack, &n) : NULL;

	return n && view_stack_kind(l->p, loc, n, false) == KIND_GC;
}

/* Sets f->n: what a sum of samples adds to each row to which it belongs. */
static void count_sum(struct fold *f, const struct sums_entry *s)
{
	struct live *l = f->l;
	enum live_gil gil = live_who(l, s->key.labels)->gil;
	int64_t value = live_value(l, s->values);
	int64_t running = value - (live_shows_waits(l) ? s->values[l->waits] : 0);

	f->n = (struct live_count){
		.samples = live_has_samples(l) ? s->values[0] : 0,
		.value = value,
		.running = running,
		.held = gil == LIVE_GIL_HELD ? running : 0,
		.known = gil != LIVE_GIL_UNKNOWN ? running : 0,
		.gc = is_gc(l, s->key.stack) ? value : 0,
	};
}

static void add_sum(struct fold *f, const struct sums_entry *s)
{
	struct live *l = f->l;

	/* the sum is zero in the shown value (its samples are of other events), or isn't shown */
	if (!live_value(l, s->values) || !live_shows(l, &s->key))
		return;
	l->turn++;
	f->labels = s->key.labels;
	count_sum(f, s);
	for (unsigned i = 0; i < LIVE_SPANS; i++)
		if (f->spans[i])
			add_count(&l->all[i], &f->n);
	if (l->table >= LIVE_THREADS)
		add_row(f, key_of_who(live_who(l, s->key.labels), l->table), 0, true);
	else
		add_frames(f, s->key.stack);
}

static void fold(struct live *l, const struct sums *sums, bool last, bool since)
{
	struct fold f = {.l = l, .spans = {last, since}};

	sums_foreach(s, sums) add_sum(&f, s);
}

int live_count(struct live *l, const struct profile_sample *s)
{
	return live_gil_count(l, s)
		       ?: sums_add(&l->now, &(struct sums_key){s->stack, s->labels, -1}, s->values);
}

int live_add(struct live *l, const struct profile_sample *s)
{
	struct profile_sample rest = *s;

	live_open_settle(l, &rest);
	return live_count(l, &rest);
}

/* Adds the sums of the last interval to .since. What has no room there is counted in .not_kept. */
static int keep(struct live *l)
{
	int r = 0;

	sums_foreach(s, &l->last)
	{
		if (l->since.n >= LIVE_MAX_SUMS)
			l->not_kept += MAX(s->values[0], (int64_t)1);
		else if (!r)
			r = sums_add(&l->since, &s->key, s->values);
	}
	return r;
}

/*
 * in seconds: further intervals are added to a part of the window of recent time until the part is
 * this long
 */
#define LEAST_PART 1.0
/*
 * In seconds: by how much the parts of the window together may be shorter than the window, because
 * no interval is exactly as long as requested.
 */
#define ABOUT 0.1

static int add_sums(struct sums *to, const struct sums *from)
{
	int r = 0;

	sums_foreach(s, from) r = r ? r : sums_add(to, &s->key, s->values);
	return r;
}

/*
 * Adds the last interval to the window of recent time, and drops the oldest parts that aren't
 * needed to reach the window's length.
 */
static int move_window(struct live *l, double seconds)
{
	double all = seconds;
	int r = 0;

	vec_foreach(part, &l->parts)
		all += part->seconds;
	while (l->parts.n && all - l->parts.v[0].seconds >= l->window - ABOUT) {
		all -= l->parts.v[0].seconds;
		drop_first(l);
	}
	if (!l->parts.n || l->parts.v[l->parts.n - 1].seconds >= LEAST_PART - ABOUT) {
		struct live_part part = {};

		sums_init(&part.sums, l->last.n_values);
		r = vec_push(&l->parts, part) ? err_set(-ENOMEM, "out of memory") : 0;
	}
	if (r)
		return r;
	l->parts.v[l->parts.n - 1].seconds += seconds;
	l->seconds[LIVE_RECENT] = all;
	r = add_sums(&l->parts.v[l->parts.n - 1].sums, &l->last);
	sums_clear(&l->merged);
	vec_foreach(part, &l->parts)
		r = r ? r : add_sums(&l->merged, &part->sums);
	return r;
}

static void subtract(struct live_count *from, const struct live_count *n)
{
	from->samples -= n->samples;
	from->value -= n->value;
	from->running -= n->running;
	from->held -= n->held;
	from->known -= n->known;
	from->gc -= n->gc;
}

int live_tick(struct live *l, double seconds)
{
	struct live_count before = l->all[LIVE_SINCE];
	struct sums done = l->now;
	int r;

	l->now = l->last;
	l->last = done;
	sums_clear(&l->now);
	l->tick++;
	l->interval_seconds = l->seconds[LIVE_RECENT] = seconds;
	l->seconds[LIVE_SINCE] += seconds;
	l->all[LIVE_RECENT] = (struct live_count){};
	r = select_again(l);
	r = r ? r : live_gil_tick(l);
	if (!r && l->window > 0)
		r = move_window(l, seconds);
	if (r)
		return r;
	fold(l, &l->last, l->window <= 0, true);
	if (l->window > 0)
		fold(l, &l->merged, true, false);
	l->interval = l->all[LIVE_SINCE];
	subtract(&l->interval, &before);
	return keep(l);
}

static void clear_rows(struct live *l)
{
	l->rows.n = 0;
	map_clear(&l->index);
	memset(l->all, 0, sizeof(l->all));
	l->no_row = 0;
}

void live_reset(struct live *l)
{
	sums_clear(&l->now);
	sums_clear(&l->last);
	sums_clear(&l->since);
	clear_parts(l);
	clear_rows(l);
	live_gil_clear(l);
	memset(l->seconds, 0, sizeof(l->seconds));
	l->not_kept = 0;
}

size_t live_bytes(const struct live *l)
{
	size_t parts = sums_bytes(&l->merged);

	vec_foreach(part, &l->parts)
		parts += sums_bytes(&part->sums);
	return parts + sums_bytes(&l->now) + sums_bytes(&l->last) + sums_bytes(&l->since) +
	       l->rows.cap * sizeof(*l->rows.v) + l->index.size * sizeof(*l->index.slots) +
	       l->who.cap * sizeof(*l->who.v) + l->modules.cap * sizeof(*l->modules.v) +
	       l->texts.bytes;
}

int live_condense(struct live *l, struct condense *c, size_t keep)
{
	/*
	 * .since and .now together have all samples. The samples of the window of recent time are
	 * also in .since. While the screen is paused, .now holds more than one interval.
	 */
	const struct sums *const sums[] = {&l->since, &l->now};

	return condense_begin(c, l->p, &l->last, sums, ARRAY_SIZE(sums), keep);
}

int live_condensed(struct live *l, struct condense *c)
{
	struct live_only only = {.pid = profile_copy_string(&c->rebase.copy, l->only.pid),
				 .tid = profile_copy_string(&c->rebase.copy, l->only.tid)};
	_cleanup_free_ char *text = strdup(live_text(l, l->only.text));
	int r = text ? condense_sums(c, &l->since) : err_set(-ENOMEM, "out of memory");

	r = r ? r : condense_sums(c, &l->last);
	r = r ? r : condense_sums(c, &l->now);
	r = r ? r : condense_sums(c, &l->merged);
	vec_foreach(part, &l->parts)
		r = r ? r : condense_sums(c, &part->sums);
	if (r)
		return r;
	forget_known(l);
	live_open_condensed(&l->open);
	live_gil_clear(l);
	vec_fini(&l->rows);
	map_fini(&l->index);
	take_keys(l);
	if (*text)
		only.text = intern_put(&l->texts, text, strlen(text));
	r = select_again(l);
	if (!r)
		live_show(l, l->table, only);
	return r;
}

void live_show(struct live *l, enum live_table table, struct live_only only)
{
	l->table = table;
	l->only = only;
	clear_rows(l);
	fold(l, &l->since, false, true);
	fold(l, live_recent(l), true, false);
}

static void add_interval(struct live *l)
{
	struct fold f = {.l = l};

	l->interval = (struct live_count){};
	sums_foreach(s, &l->last)
	{
		if (live_shows(l, &s->key)) {
			count_sum(&f, s);
			add_count(&l->interval, &f.n);
		}
	}
}

void live_show_value(struct live *l, unsigned value, bool wall)
{
	l->value = value;
	l->wall = wall && l->waits >= 0;
	live_show(l, l->table, l->only);
	add_interval(l);
}

struct live_count live_self(const struct live *l, const struct live_row *row, enum live_span span)
{
	return span == LIVE_RECENT && row->tick != l->tick ? (struct live_count){}
							   : row->self[span];
}

struct live_count live_total(const struct live *l, const struct live_row *row, enum live_span span)
{
	return span == LIVE_RECENT && row->tick != l->tick ? (struct live_count){}
							   : row->total[span];
}

int64_t live_in_state(const struct live *l, const struct live_row *row, enum live_state state)
{
	return row->tick != l->tick ? 0 : row->states[state];
}
