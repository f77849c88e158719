/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes who waited for whom for the GIL, for programs; see gil.h. */
#include "base/text/json.h"
#include "view/waits/gil.h"

/* Appends a thread. NULL: all those that share the last row or column. */
static void add_thread(const struct gil_pairs *g, const struct gil_thread *t, struct str *out)
{
	static const char *const keys[] = {"thread", "tid", "process", "pid"};
	bool first = true;

	if (!t) {
		str_add(out, "{\"thread\": \"[others]\"}");
		return;
	}
	str_add_c(out, '{');
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *text = profile_label_text(g->p, t->labels, keys[i]);

		if (!*text)
			continue;
		str_addf(out, "%s\"%s\": ", first ? "" : ", ", keys[i]);
		json_string(out, text);
		first = false;
	}
	str_add_c(out, '}');
}

static void add_pair(const struct gil_pairs *g, size_t row, size_t column, int64_t ns,
		     struct str *out)
{
	if (ns <= 0)
		return;
	str_add(out, out->n && out->s[out->n - 1] == '}' ? ", {\"waiter\": " : "{\"waiter\": ");
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

	/* those that aren't known come last */
	for (size_t i = 1; i <= rows; i++) {
		size_t row = i % rows;

		for (size_t column = 1; column < g->columns.n + 2; column++)
			add_pair(g, row, column, gil_pairs_cell(g, row, column), out);
		add_pair(g, row, 0, gil_pairs_nobody(g, row), out);
	}
}
