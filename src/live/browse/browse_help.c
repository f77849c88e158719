/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws the help page, which says what the keys do. */
#include "live/browse/browse.h"

const struct browse_help browse_help[] = {
	{"Tab  l m t P", "next table; or the table of lines, modules, threads, processes"},
	{"Up Down PgUp", "choose a row; Home: back to the top row, and stay there"},
	{"Enter", "show the callers of the row as a tree; Tab there: what it calls"},
	{"f", "show the row as a flame graph; Enter zooms in, Backspace out"},
	{"Esc", "back to the table"},
	{"s S  1-9  I", "sort by the next, previous, N-th column; reverse the order"},
	{"/  c", "show only rows that contain a text; show all rows again"},
	{"z", "show only the row's thread, process or label; z again: show all"},
	{"n  K", "show or hide native, kernel frames; hidden time goes to callers"},
	{"e", "show the value of the next event, if several are recorded"},
	{"p Space", "pause; samples taken meanwhile are in the next interval"},
	{"r", "reset: count from now on"},
	{"+  -", "shorter, longer intervals"},
	{"w  W", "write this screen to a file; write the profile, in any format"},
	{"q  Ctrl-C", "quit"},
	{},
};

void help_draw(struct browse *b, struct screen *s, int top, int bottom)
{
	int y = top;

	for (const struct browse_help *h = browse_help; h->keys && y < bottom; h++, y++) {
		screen_at(s, y);
		screen_put(s, STYLE_BOLD, "  ", -1);
		screen_put(s, STYLE_BOLD, h->keys, 14);
		screen_pad(s, STYLE_PLAIN, 16);
		screen_put(s, STYLE_PLAIN, h->meaning, -1);
	}
	y++;
	for (const struct table_column *c = table_columns; c->name && y < bottom; c++) {
		if (!table_has(b->shown, c, s->cols) || !*c->meaning)
			continue;
		screen_at(s, y++);
		screen_put(s, STYLE_BOLD, "  ", -1);
		screen_put(s, STYLE_BOLD, c->heading, 14);
		screen_pad(s, STYLE_PLAIN, 16);
		screen_put(s, STYLE_PLAIN, c->meaning, -1);
	}
}
