/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes how many columns text takes, by the C library's wcwidth(); see cells.h. */
#include "cli/cells.h"

#include <locale.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>
#include "base/text/visible.h"

#define MIN_WIDTH 40
#define MAX_WIDTH 1000

void cells_init(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		setlocale(LC_CTYPE, "");
}

int cells_terminal_width(FILE *f)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int width = columns ? atoi(columns) : 0;

	if (width <= 0 && ioctl(fileno(f), TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width <= 0)
		width = isatty(fileno(f)) ? 80 : MAX_WIDTH;
	return MAX(MIN(width, MAX_WIDTH), MIN_WIDTH);
}

unsigned cells_terminal_height(FILE *f)
{
	const char *lines = getenv("LINES");
	struct winsize size = {};
	int height = lines ? atoi(lines) : 0;

	if (height <= 0 && ioctl(fileno(f), TIOCGWINSZ, &size) == 0)
		height = size.ws_row;
	if (height <= 0)
		height = isatty(fileno(f)) ? 24 : 0;
	return (unsigned)MAX(height, 0);
}

/*
 * Returns how many columns the character at *s takes, and moves *s past it. *ok: the character can
 * be printed as it is.
 */
static int next(const char **s, bool *ok)
{
	uint32_t c = visible_next(s, ok);
	int width = *ok ? wcwidth((wchar_t)c) : 1;

	if (width >= 0)
		return width;
	/*
	 * The C library doesn't know the character: the locale is plain C, or the character is
	 * newer than the C library.
	 */
	if (MB_CUR_MAX > 1)
		*ok = false;
	return 1;
}

int cells_width(const char *s, size_t n)
{
	const char *end = s + n;
	int width = 0;
	bool ok;

	while (s < end && *s)
		width += next(&s, &ok);
	return width;
}

/* Appends as many characters of @s as fit into @columns. Returns how many columns they take. */
static int add_part(struct str *b, const char *s, int columns)
{
	int width = 0;

	while (*s) {
		const char *start = s;
		bool ok;
		int w = next(&s, &ok);

		if (width + w > columns)
			break;
		width += w;
		if (ok)
			str_add_n(b, start, (size_t)(s - start));
		else
			str_add_c(b, '?');
	}
	return width;
}

int cells_add(struct str *b, const char *s, int columns, bool keep_end, bool fill)
{
	int left = cells_width(s, strlen(s)) - columns, width;
	bool cut = left > 0 && columns > 0, ok;

	if (cut && keep_end) {
		/* Leaves room for "…" by skipping one more column of @s. */
		for (left++; *s && left > 0;)
			left -= next(&s, &ok);
		str_add(b, "…");
	}
	width = add_part(b, s, cut ? columns - 1 : columns) + cut;
	if (cut && !keep_end)
		str_add(b, "…");
	if (fill)
		for (; width < columns; width++)
			str_add_c(b, ' ');
	return width;
}
