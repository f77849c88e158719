/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes as JSON which threads waited for which; see gil.h and locks.h. */
#include "base/text/json.h"
#include "view/waits/gil.h"
#include "view/waits/locks.h"

/* Appends what label set @labels says about its thread. */
static void add_labels(const struct profile *p, uint32_t labels, struct str *out)
{
	static const char *const keys[] = {"thread", "tid", "process", "pid"};
	bool first = true;

	str_add_c(out, '{');
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *text = profile_label_text(p, labels, keys[i]);

		if (!*text)
			continue;
		str_addf(out, "%s\"%s\": ", first ? "" : ", ", keys[i]);
		json_string(out, text);
		first = false;
	}
	str_add_c(out, '}');
}

/* Appends a thread; @t NULL: all threads that share the last row or column. */
static void add_thread(const struct gil_pairs *g, const struct gil_thread *t, struct str *out)
{
	if (t)
		add_labels(g->p, t->labels, out);
	else
		str_add(out, "{\"thread\": \"[others]\"}");
}

/* Begins a new object at the end of @out, which ends with an unfinished list. */
static void begin(struct str *out)
{
	str_add(out, out->n && out->s[out->n - 1] == '}' ? ", {\"waiter\": " : "{\"waiter\": ");
}

static void add_pair(const struct gil_pairs *g, size_t row, size_t column, int64_t ns,
		     struct str *out)
{
	if (ns <= 0)
		return;
	begin(out);
	if (row)
		add_thread(g, row <= g->rows.n ? gil_pairs_waiter(g, row) : NULL, out);
	else
		str_add(out, "null");
	str_add(out, ", \"holder\": ");
	if (column)
		add_thread(g, column <= g->columns.n ? gil_pairs_holder(g, column) : NULL, out);
	else
		str_add(out, "null");
	str_addf(out, ", \"nanoseconds\": %lld}", (long long)ns);
}

void gil_pairs_json(const struct gil_pairs *g, struct str *out)
{
	size_t rows = g->rows.n + 2;

	/* the row of threads that aren't known comes last */
	for (size_t i = 1; i <= rows; i++) {
		size_t row = i % rows;

		for (size_t column = 1; column < g->columns.n + 2; column++)
			add_pair(g, row, column, gil_pairs_cell(g, row, column), out);
		add_pair(g, row, 0, gil_pairs_nobody(g, row), out);
	}
}

/* Stores a label set for each thread: from the string of the label `tid` to the label set. */
static int note_threads(const struct profile *p, struct map *ret)
{
	int r = 0;

	for (uint32_t i = 1; i <= profile_n_labels(p) && !r; i++) {
		uint32_t tid = profile_label_value(p, i, "tid");

		r = tid ? map_put(ret, tid, i) : 0;
	}
	return r;
}

static void add_waiter(const struct lock_waits *w, const struct lock_wait *one,
		       const struct map *threads, struct str *out)
{
	const uint64_t *labels = map_get(threads, one->waiter);

	if (!one->waiter) {
		str_add(out, "null");
	} else if (labels) {
		add_labels(w->p, (uint32_t)*labels, out);
	} else {
		str_add(out, "{\"thread\": ");
		json_string(out, profile_label_text(w->p, one->labels, "waiter"));
		str_add(out, ", \"tid\": ");
		json_string(out, profile_get_string(w->p, one->waiter));
		str_add_c(out, '}');
	}
}

/* Appends the place in the code at which waits were ended. */
static void add_place(const struct profile *p, uint32_t at, struct str *out)
{
	const struct profile_location *l = profile_get_location(p, at);
	const struct profile_function *f =
		at && l->function ? profile_get_function(p, l->function) : NULL;

	if (!f)
		return;
	str_add(out, ", \"function\": ");
	json_string(out, profile_get_string(p, f->name));
	str_add(out, ", \"file\": ");
	json_string(out, profile_get_string(p, f->file));
	if (l->line > 0)
		str_addf(out, ", \"line\": %d", l->line);
}

static void add_wait(const struct lock_waits *w, const struct lock_wait *one,
		     const struct map *threads, struct str *out)
{
	begin(out);
	add_waiter(w, one, threads, out);
	str_add(out, ", \"waker\": ");
	add_labels(w->p, one->labels, out);
	add_place(w->p, one->at, out);
	str_addf(out, ", \"nanoseconds\": %lld}", (long long)one->ns);
}

void lock_waits_json(const struct lock_waits *w, struct str *out)
{
	struct map threads;

	map_init(&threads);
	if (note_threads(w->p, &threads))
		out->failed = true;
	vec_foreach(place, &w->places)
		for (size_t i = 0; i < place->n; i++)
			add_wait(w, &w->waits.v[place->first + i], &threads, out);
	vec_foreach(rest, &w->rests) {
		if (rest->ns <= 0)
			continue;
		begin(out);
		add_labels(w->p, rest->labels, out);
		str_addf(out, ", \"waker\": null, \"nanoseconds\": %lld}", (long long)rest->ns);
	}
	map_fini(&threads);
}
