/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns lines of the screen into escape sequences; see screen.h. */
#include "live/screen.h"

#include "base/error.h"
#include "live/text.h"

/*
 * Terminal codes (SGR) of the styles. .shape is always used; .color isn't, if the screen has no
 * colours.
 */
static const struct {
	const char *shape, *color;
} styles[STYLES] = {
	[STYLE_PLAIN] = {"", ""},    [STYLE_BOLD] = {"1", ""},	     [STYLE_DIM] = {"2", ""},
	[STYLE_HEAD] = {"7", ""},    [STYLE_SELECTED] = {"1;7", ""}, [STYLE_PYTHON] = {"", ""},
	[STYLE_NATIVE] = {"", "36"}, [STYLE_KERNEL] = {"", "35"},    [STYLE_MARK] = {"2", "33"},
	[STYLE_WARN] = {"1", "31"},  [STYLE_BOX] = {"7", "33"},	     [STYLE_BOX2] = {"7", "32"},
};

void screen_fini(struct screen *s)
{
	for (int y = 0; s->lines && y < s->rows; y++) {
		str_fini(&s->lines[y].now);
		str_fini(&s->lines[y].shown);
		str_fini(&s->lines[y].plain);
	}
	free(s->lines);
	s->lines = NULL;
	s->rows = s->cols = 0;
}

int screen_resize(struct screen *s, int rows, int cols)
{
	screen_fini(s);
	s->lines = calloc(MAX(rows, 1), sizeof(*s->lines));
	if (!s->lines)
		return err_set(-ENOMEM, "out of memory for the screen");
	s->rows = MAX(rows, 1);
	s->cols = MAX(cols, 1);
	/* no drawn line contains a newline, so every line differs from .shown and is sent again */
	for (int y = 0; y < s->rows; y++)
		str_add_c(&s->lines[y].shown, '\n');
	return 0;
}

void screen_clear(struct screen *s)
{
	for (int y = 0; y < s->rows; y++) {
		str_clear(&s->lines[y].now);
		str_clear(&s->lines[y].plain);
		s->lines[y].width = 0;
		s->lines[y].selected = false;
	}
	s->y = 0;
}

void screen_at(struct screen *s, int y)
{
	s->y = y;
}

static struct screen_line *line(const struct screen *s)
{
	return s->y >= 0 && s->y < s->rows ? &s->lines[s->y] : NULL;
}

int screen_x(const struct screen *s)
{
	return line(s) ? line(s)->width : 0;
}

int screen_left(const struct screen *s)
{
	return line(s) ? s->cols - line(s)->width : 0;
}

static void begin_style(const struct screen *s, struct screen_line *l, enum style style)
{
	const char *shape, *color;

	if (l->selected)
		style = STYLE_SELECTED;
	shape = styles[style].shape;
	color = s->color ? styles[style].color : "";
	if (*shape || *color)
		str_addf(&l->now, "\033[%s%s%sm", shape, *shape && *color ? ";" : "", color);
}

typedef int fit_fn(struct str *out, const char *s, int width, bool utf8);

static void put(struct screen *s, enum style style, const char *text, int width, fit_fn *fn)
{
	struct screen_line *l = line(s);
	_cleanup_str_ struct str fit = {};

	if (!l)
		return;
	l->selected |= style == STYLE_SELECTED;
	width = width < 0 ? screen_left(s) : MIN(width, screen_left(s));
	l->width += fn(&fit, text, width, s->utf8);
	if (!fit.n)
		return;
	str_add_n(&l->plain, fit.s, fit.n);
	begin_style(s, l, style);
	str_add_n(&l->now, fit.s, fit.n);
	str_add(&l->now, "\033[0m");
}

void screen_put(struct screen *s, enum style style, const char *text, int width)
{
	put(s, style, text, width, text_clip);
}

void screen_put_name(struct screen *s, enum style style, const char *name, int width)
{
	put(s, style, name, width, text_fit);
}

void screen_put_frame(struct screen *s, enum style style, const char *frame, int width)
{
	put(s, style, frame, width, text_fit_frame);
}

void screen_pad(struct screen *s, enum style style, int x)
{
	static const char spaces[] = "                                ";

	x = MIN(x, s->cols);
	while (line(s) && screen_x(s) < x) {
		int n = MIN(x - screen_x(s), (int)sizeof(spaces) - 1);

		screen_put(s, style, spaces + sizeof(spaces) - 1 - n, n);
	}
}

void screen_put_right(struct screen *s, enum style style, const char *text, int width)
{
	screen_pad(s, style, screen_x(s) + width - text_width(text, s->utf8));
	screen_put(s, style, text, width);
}

void screen_update(struct screen *s, struct str *out)
{
	for (int y = 0; y < s->rows; y++) {
		struct screen_line *l = &s->lines[y];
		struct str shown = l->shown;

		if (l->now.failed ||
		    (shown.n == l->now.n && (!shown.n || !memcmp(shown.s, l->now.s, shown.n))))
			continue;
		str_addf(out, "\033[%d;1H", y + 1);
		str_add_n(out, str_cstr(&l->now), l->now.n);
		if (l->width < s->cols)
			str_add(out, "\033[K");
		l->shown = l->now;
		l->now = shown;
	}
}

void screen_text(const struct screen *s, struct str *out)
{
	for (int y = 0; y < s->rows; y++) {
		const char *text = str_cstr(&s->lines[y].plain);
		size_t n = s->lines[y].plain.n;

		while (n && text[n - 1] == ' ')
			n--;
		str_add_n(out, text, n);
		str_add_c(out, '\n');
	}
}
