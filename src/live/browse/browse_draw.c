/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws the head, the table and the foot of the screen; see browse.h. */
#include "live/browse/browse.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"

#define HEAD_ROWS 3 /* lines of the screen's head: target, totals, names of the tables */
#define GC_LEAST  1 /* the garbage collector's share is shown if it is at least this percentage */

enum style draw_style(const struct profile *p, uint32_t location)
{
	static const enum style styles[KIND_MAX] = {
		[KIND_PYTHON] = STYLE_PYTHON, [KIND_NATIVE] = STYLE_NATIVE,
		[KIND_KERNEL] = STYLE_KERNEL, [KIND_JIT] = STYLE_NATIVE,
		[KIND_GC] = STYLE_MARK,	      [KIND_MARK] = STYLE_MARK};

	if (!location)
		return STYLE_PLAIN;
	return styles[profile_get_mapping(p, profile_get_location(p, location)->mapping)->kind];
}

static void put(struct screen *s, enum style style, const char *fmt, ...) _printf_(3, 4);

static void put(struct screen *s, enum style style, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	screen_put(s, style, text, -1);
}

static void draw_who(struct browse *b, struct screen *s)
{
	const struct browse_facts *f = &b->facts;
	unsigned long long t = (unsigned long long)b->shown->live->seconds[LIVE_SINCE];

	screen_at(s, 0);
	put(s, STYLE_BOLD, "krait top ");
	screen_put_name(s, STYLE_PLAIN, f->target, MAX(screen_left(s) - 40, 10));
	if (f->hz > 0)
		put(s, STYLE_PLAIN, "  %.0f Hz", f->hz);
	put(s, STYLE_PLAIN, "  every %g s  %llu:%02llu:%02llu", f->interval, t / 3600, t / 60 % 60,
	    t % 60);
	if (b->ended)
		put(s, STYLE_WARN, "  ended");
	else if (b->paused)
		put(s, STYLE_WARN, "  paused");
}

/*
 * Writes how many processes or threads there are. @n: how many were sampled since krait top began;
 * @alive: how many of these still live.
 */
static void put_alive(struct screen *s, unsigned n, unsigned alive, const char *one,
		      const char *many)
{
	put(s, STYLE_PLAIN, "  %u", MIN(alive, n));
	if (alive < n)
		put(s, STYLE_PLAIN, " of %u %s alive", n, n == 1 ? one : many);
	else
		put(s, STYLE_PLAIN, " %s", n == 1 ? one : many);
}

/*
 * Draws how much of the shown value the last interval had. If the profile has several values, also
 * draws which value is shown.
 */
static void draw_amount(struct browse *b, struct screen *s)
{
	const struct browse_facts *f = &b->facts;
	const struct live *l = b->shown->live;
	const struct profile_meta *m = profile_meta(l->p);
	bool several = m->n_values > 2;

	if (several)
		put(s, STYLE_BOLD, "%s (%s)  ", live_value_type(l).type, live_value_type(l).unit);
	if (live_shows_waits(l)) {
		put(s, STYLE_PLAIN, "%.1f s (%.1f s in all)",
		    (double)l->interval.value / NSEC_PER_SEC,
		    (double)l->all[LIVE_SINCE].value / NSEC_PER_SEC);
		return;
	}
	if (!live_has_samples(l)) {
		put(s, STYLE_PLAIN, "%lld (%lld in all)", (long long)l->interval.value,
		    (long long)l->all[LIVE_SINCE].value);
		return;
	}
	put(s, STYLE_PLAIN, "%llu samples", (unsigned long long)f->interval_samples);
	if (!several && f->samples > f->interval_samples)
		put(s, STYLE_PLAIN, " (%llu in all)", (unsigned long long)f->samples);
}

static void draw_how_much(struct browse *b, struct screen *s)
{
	const struct browse_facts *f = &b->facts;
	uint64_t not_kept = b->shown->live->not_kept + b->shown->live->no_row + b->tree.no_room;

	screen_at(s, 1);
	if (f->cpu >= 0)
		put(s, STYLE_BOLD, "CPU %.0f %%  ", f->cpu);
	if (f->gil >= 0)
		put(s, STYLE_BOLD, "with the GIL %.0f %%  ", f->gil);
	if (f->gc >= GC_LEAST)
		put(s, STYLE_BOLD, "GC %.0f %% of all  ", f->gc);
	draw_amount(b, s);
	put_alive(s, f->processes, f->processes_alive, "process", "processes");
	put_alive(s, f->threads, f->threads_alive, "thread", "threads");
	if (f->incomplete && f->samples)
		put(s, STYLE_PLAIN, "  %.1f %% incomplete", 100.0 * f->incomplete / f->samples);
	if (f->unsupported)
		put(s, STYLE_WARN, "  %llu not understood", (unsigned long long)f->unsupported);
	if (f->condensed)
		put(s, STYLE_WARN, "  rare code is summed up");
	if (not_kept)
		put(s, STYLE_WARN, "  %llu over the memory limit", (unsigned long long)not_kept);
	if (f->lost)
		put(s, STYLE_WARN, "  %llu lost", (unsigned long long)f->lost);
}

static void draw_tables(struct browse *b, struct screen *s)
{
	const struct table *v = b->shown;

	screen_at(s, 2);
	for (unsigned i = 0; i < (v->live->by ? LIVE_TABLES : LIVE_BY); i++) {
		bool on = i == v->live->table;

		put(s, on ? STYLE_BOLD : STYLE_DIM, "%s%s%s ", on ? "[" : " ",
		    i == LIVE_BY ? v->live->by : table_word(i), on ? "]" : " ");
	}
	put(s, STYLE_PLAIN, " %zu by %s%s", v->rows.n, v->sort->heading,
	    v->ascending != !v->sort->value ? ", turned round" : "");
	if (v->live->only.tid) {
		put(s, STYLE_WARN, "  tid %s", profile_get_string(v->p, v->live->only.tid));
	} else if (v->live->only.pid) {
		put(s, STYLE_WARN, "  pid %s", profile_get_string(v->p, v->live->only.pid));
	} else if (v->live->only.text) {
		put(s, STYLE_WARN, "  %s ", v->live->by);
		screen_put_name(s, STYLE_WARN, live_text(v->live, v->live->only.text), -1);
	}
	if (*v->filter)
		put(s, STYLE_WARN, "  /%s", v->filter);
	/* At first native and kernel frames are hidden; key n shows them. */
	if (!v->live->hide[KIND_NATIVE] || !v->live->hide[KIND_KERNEL])
		put(s, STYLE_DIM, "  with %s%s%s", v->live->hide[KIND_NATIVE] ? "" : "native",
		    v->live->hide[KIND_NATIVE] || v->live->hide[KIND_KERNEL] ? "" : ", ",
		    v->live->hide[KIND_KERNEL] ? "" : "kernel");
}

static void draw_headings(struct browse *b, struct screen *s)
{
	for (const struct table_column *c = table_columns; c->name; c++) {
		char text[32];

		if (!table_has(b->shown, c, s->cols))
			continue;
		/*
		 * A * marks the sorted column, because some terminals show neither bold type nor
		 * colours.
		 */
		snprintf(text, sizeof(text), "%s%s", c == b->shown->sort ? "*" : "", c->heading);
		if (!c->value)
			put(s, STYLE_HEAD, "   %s", text);
		else
			screen_put_right(s, STYLE_HEAD, text, c->width);
	}
	screen_pad(s, STYLE_HEAD, s->cols);
}

static void draw_row(struct browse *b, struct screen *s, const struct live_row *row, bool chosen)
{
	_cleanup_str_ struct str cell = {};

	if (chosen)
		screen_put(s, STYLE_SELECTED, "", 0);
	for (const struct table_column *c = table_columns; c->name; c++) {
		if (!table_has(b->shown, c, s->cols))
			continue;
		str_clear(&cell);
		if (c->value) {
			table_number(b->shown, c->unit, c->value(b->shown, row), &cell);
			screen_put_right(s, c == b->shown->sort ? STYLE_BOLD : STYLE_PLAIN,
					 str_cstr(&cell), c->width);
			continue;
		}
		table_name(b->shown, row, &cell);
		table_wait_now(b->shown, row, &cell);
		screen_put(s, STYLE_PLAIN, chosen ? " > " : "   ", 3);
		if (TABLE_OF(b->shown->live->table) & TABLE_OF_CODE)
			screen_put_frame(s, draw_style(b->shown->p, row->location), str_cstr(&cell),
					 -1);
		else
			screen_put_name(s, STYLE_PLAIN, str_cstr(&cell), -1);
	}
	screen_pad(s, STYLE_PLAIN, chosen ? s->cols : 0);
}

static void draw_table(struct browse *b, struct screen *s, int top, int bottom)
{
	const struct table *v = b->shown;
	size_t rows = bottom > top + 1 ? bottom - top - 1 : 0;

	screen_at(s, top);
	draw_headings(b, s);
	b->page_rows = (int)rows;
	if (b->at < b->from)
		b->from = b->at;
	if (rows && b->at >= b->from + rows)
		b->from = b->at - rows + 1;
	if (rows && b->from + rows > v->rows.n)
		b->from = v->rows.n > rows ? v->rows.n - rows : 0;
	for (size_t i = 0; i < rows && b->from + i < v->rows.n; i++) {
		screen_at(s, top + 1 + (int)i);
		draw_row(b, s, &v->live->rows.v[v->rows.v[b->from + i]], b->from + i == b->at);
	}
	if (!v->rows.n) {
		screen_at(s, top + 1);
		screen_put(s, STYLE_DIM,
			   *v->filter  ? "  no row has that text; c shows all again"
			   : !v->clock ? "  there were no such events yet"
			   : live_shows_waits(v->live)
				   ? "  nothing has run or waited yet"
				   : "  nothing has run on a CPU yet; time that programs "
				     "spend waiting isn't shown",
			   -1);
	}
}

/*
 * The keys of each page, the most useful first. The screen's last line shows as many of them as
 * fit.
 */
static const struct {
	const char *key, *what;
} keys[][13] = {
	[PAGE_TABLE] = {{"q", "quit"},
			{"?", "help"},
			{"Tab", "table"},
			{"s", "sort"},
			{"/", "filter"},
			{"p", "pause"},
			{"r", "reset"},
			{"Enter", "callers"},
			{"f", "flame"},
			{"n", "native"},
			{"e", "event"},
			{"w", "write"}},
	[PAGE_TREE] = {{"q", "quit"},
		       {"?", "help"},
		       {"Esc", "back"},
		       {"Tab", "callers/callees"},
		       {"Enter", "open/close"},
		       {"f", "flame"}},
	[PAGE_FLAME] = {{"q", "quit"},
			{"?", "help"},
			{"Esc", "back"},
			{"arrows", "choose"},
			{"Enter", "zoom"},
			{"Backspace", "out"},
			{"Tab", "turn"},
			{"f", "tree"}},
	[PAGE_HELP] = {{"any key", "back"}},
};

static void draw_keys(struct screen *s, enum page page)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys[page]) && keys[page][i].key; i++) {
		int need = (int)(strlen(keys[page][i].key) + strlen(keys[page][i].what)) + 2;

		if (screen_left(s) < need - 1)
			return;
		put(s, STYLE_BOLD, "%s", keys[page][i].key);
		put(s, STYLE_DIM, " %s ", keys[page][i].what);
	}
}

static void draw_foot(struct browse *b, struct screen *s)
{
	static const char *const asked[] = {
		[PROMPT_FILTER] = "filter: ",
		[PROMPT_SCREEN] = "write the screen to: ",
		[PROMPT_PROFILE] = "write the profile (the extension picks the format): "};

	screen_at(s, s->rows - 1);
	if (b->prompt) {
		put(s, STYLE_BOLD, "%s", asked[b->prompt]);
		screen_put(s, STYLE_PLAIN, str_cstr(&b->input), -1);
		put(s, STYLE_HEAD, " ");
	} else if (*b->message) {
		screen_put(s, STYLE_WARN, b->message, -1);
	} else {
		draw_keys(s, b->page);
	}
}

/* the lines on who waits for whom are shown if the screen has at least this many rows */
#define WAITS_FROM_ROWS 20
/* the lines on who waits for whom take at most 1/WAITS_PART of the screen */
#define WAITS_PART 3

/* Draws the lines on who waits for whom, above the table. Returns the first line below them. */
static int draw_waits(struct browse *b, struct screen *s)
{
	_cleanup_str_ struct str lines = {};
	int y = HEAD_ROWS, end_row = s->rows < WAITS_FROM_ROWS ? y : y + s->rows / WAITS_PART;

	if (y == end_row)
		return y;
	table_gil_lines(b->shown, &lines);
	table_lock_lines(b->shown, &lines);
	for (char *line = lines.s, *end; line && y < end_row && (end = strchr(line, '\n'));
	     line = end + 1) {
		*end = '\0';
		screen_at(s, y++);
		screen_put(s, *line == ' ' ? STYLE_PLAIN : STYLE_WARN, line, -1);
	}
	return y;
}

int browse_draw(struct browse *b, struct screen *s)
{
	int bottom = s->rows - 1, r = 0;

	screen_clear(s);
	draw_who(b, s);
	draw_how_much(b, s);
	draw_tables(b, s);
	switch (b->page) {
	case PAGE_TABLE:
		draw_table(b, s, draw_waits(b, s), bottom);
		break;
	case PAGE_TREE:
		tree_draw(b, s, HEAD_ROWS, bottom);
		break;
	case PAGE_FLAME:
		r = flame_draw(b, s, HEAD_ROWS, bottom);
		break;
	case PAGE_HELP:
		help_draw(b, s, HEAD_ROWS, bottom);
		break;
	}
	draw_foot(b, s);
	return r;
}
