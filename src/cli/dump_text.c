/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait dump` for people: a traceback of each thread as Python prints it, native and kernel functions
 * behind it. What comes from the program (names, source) is shown without its control characters.
 */
#include <stdlib.h>

#include "cli/color.h"
#include "cli/dump.h"

#define SOURCE_COLUMNS 200 /* of a line that are shown */
#define MOST_ALIKE     3 /* of frames one below the other that are shown: as CPython's tracebacks do */

/* As fs/proc does with newlines: nothing that a terminal would obey. */
static void put_clean(FILE *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		/* C1 controls are 0xc2 0x80..0x9f in UTF-8 */
		if (c < 0x20 || c == 0x7f ||
		    (c == 0xc2 && i + 1 < n && ((unsigned char)s[i + 1] & 0xe0) == 0x80))
			fputc('?', out);
		else
			fputc(c, out);
	}
}

static void put_text(FILE *out, const char *s)
{
	put_clean(out, s, strlen(s));
}

static void add_span(uint64_t ns, struct str *ret)
{
	double s = (double)ns / NSEC_PER_SEC;

	if (ns < NSEC_PER_SEC / 10)
		str_addf(ret, "%.1f ms", 1000 * s);
	else if (s < 60)
		str_addf(ret, "%.1f s", s);
	else if (s < 3600)
		str_addf(ret, "%d min %d s", (int)s / 60, (int)s % 60);
	else
		str_addf(ret, "%d h %d min", (int)(s / 3600), (int)(s / 60) % 60);
}

static void add_since(const struct dump_thread *t, struct str *ret)
{
	bool ended = t->wait.kind == WAIT_ENDED;

	if (!t->since_ns)
		return;
	str_add(ret, ended ? " " : " for ");
	add_span(t->since_ns, ret);
	if (ended)
		str_add(ret, " ago");
}

static void add_holder(const struct dump_thread *t, struct str *ret)
{
	if (t->gil_holder && t->gil_held_ns) {
		str_addf(ret, ", which thread %d has held for ", t->gil_holder);
		add_span(t->gil_held_ns, ret);
		str_add(ret, " or longer");
	} else if (t->gil_holder) {
		str_addf(ret, ", which thread %d %s", t->gil_holder,
			 t->gil_moved ? "held when this was read" : "holds");
	}
}

void dump_state_words(const struct dump_thread *t, struct str *ret)
{
	/* Without the kernel program that's all there is to see. */
	if (t->wait.kind == WAIT_RUNNING && !t->steady)
		str_add(ret, "on a CPU, or ready to run");
	else
		str_add(ret, wait_words(t->wait.kind));
	add_since(t, ret);
	if (t->wait.kind == WAIT_GIL) {
		add_holder(t, ret);
		return;
	}
	if (t->wait.call)
		str_addf(ret, ", %s", t->wait.call);
	if (t->wait.fd >= 0)
		str_addf(ret, " of descriptor %d", t->wait.fd);
	if (t->target[0])
		str_addf(ret, " (%s)", t->target);
	if (t->wait.disk)
		str_add(ret, ", uninterruptible");
	if (t->gil == GIL_HELD)
		str_add(ret, ", holds the GIL");
	if (t->gil == GIL_WAITING) { /* it is stopped in that wait */
		str_add(ret, ", waits for the GIL");
		add_holder(t, ret);
	}
}

/* Terminal columns of a code point: East Asian wide ones take two. */
static unsigned width_of(uint32_t c)
{
	static const uint32_t wide[][2] = {
		{0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
		{0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
		{0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

	if (c >= 0x300 && c < 0x370)
		return 0; /* combining */
	for (size_t i = 0; i < ARRAY_SIZE(wide); i++)
		if (c >= wide[i][0] && c <= wide[i][1])
			return 2;
	return 1;
}

/* The same of @n bytes of text. */
static unsigned columns_of(const char *s, size_t n)
{
	unsigned columns = 0;

	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)s[i];
		unsigned len = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		uint32_t point = len == 1 ? c : c & (0x7fu >> len);

		for (unsigned k = 1; k < len && i + k < n; k++)
			point = point << 6 | ((unsigned char)s[i + k] & 0x3f);
		columns += width_of(point);
		i += len;
	}
	return columns;
}

/* Carets below the executing expression, unless that is the whole line. */
static void put_carets(const struct dump_print *to, const struct profile_location *l,
		       const char *line, size_t n, size_t indent)
{
	size_t from = (size_t)l->column - 1, end = (size_t)l->end_column - 1;

	if (l->end_line > l->line)
		end = n;
	if (!l->end_column || from < indent || end > n || end <= from ||
	    (from == indent && end == n))
		return;
	fprintf(to->out, "    %*s%s", (int)columns_of(line + indent, from - indent), "",
		color_code(to->colored, COLOR_RED));
	for (unsigned i = columns_of(line + from, end - from); i; i--)
		fputc('^', to->out);
	fprintf(to->out, "%s\n", color_code(to->colored, COLOR_OFF));
}

static void put_source(const struct dump_print *to, const struct profile_location *l,
		       const char *file)
{
	bool changed = false;
	size_t n, indent = 0;
	const char *line = source_line(to->source, file, l->line, &n, &changed);

	if (!line)
		return;
	while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
		n--;
	while (indent < n && (line[indent] == ' ' || line[indent] == '\t' || line[indent] == '\f'))
		indent++;
	if (indent == n)
		return;
	if (changed) {
		fputs("    [the file was changed after the process began]\n", to->out);
		return;
	}
	n = MIN(n, indent + SOURCE_COLUMNS);
	fputs("    ", to->out);
	put_clean(to->out, line + indent, n - indent);
	fputc('\n', to->out);
	put_carets(to, l, line, n, indent);
}

static void put_python(const struct dump_print *to, const struct profile_location *l,
		       const struct profile_function *f)
{
	const char *file = profile_get_string(to->profile, f->file);

	fprintf(to->out, "  File \"%s", color_code(to->colored, COLOR_GREEN));
	put_text(to->out, file);
	fprintf(to->out, "%s\"", color_code(to->colored, COLOR_OFF));
	if (l->line)
		fprintf(to->out, ", line %d", l->line);
	fputs(", in ", to->out);
	put_text(to->out, profile_get_string(to->profile, f->name));
	fputc('\n', to->out);
	put_source(to, l, file);
}

static void put_native(const struct dump_print *to, const struct profile_location *l,
		       const char *name, enum frame_kind kind)
{
	const char *mapping =
		profile_get_string(to->profile, profile_get_mapping(to->profile, l->mapping)->name);
	const char *base = strrchr(mapping, '/');

	base = base ? base + 1 : mapping;
	fprintf(to->out, "  %s ", kind == KIND_KERNEL ? "kernel:" : "native:");
	if (name) {
		put_text(to->out, name);
	} else {
		fputc('[', to->out);
		put_text(to->out, base);
		fprintf(to->out, "+0x%llx]", (unsigned long long)l->address);
	}
	if (kind == KIND_NATIVE && name) {
		fputs(" (", to->out);
		put_text(to->out, base);
		fputc(')', to->out);
	}
	fputc('\n', to->out);
}

/* It may quote what a target calls its files: [unsupported: ...]. */
static void put_mark(const struct dump_print *to, const char *text)
{
	fputs("  ", to->out);
	put_text(to->out, text);
	fputc('\n', to->out);
}

static void put_frame(const struct dump_print *to, uint32_t id)
{
	const struct profile_location *l = profile_get_location(to->profile, id);
	enum frame_kind kind = profile_get_mapping(to->profile, l->mapping)->kind;
	const struct profile_function *f =
		l->function ? profile_get_function(to->profile, l->function) : NULL;

	if (kind == KIND_PYTHON && f)
		put_python(to, l, f);
	else if (kind == KIND_MARK && f)
		put_mark(to, profile_get_string(to->profile, f->name));
	else
		put_native(to, l, f ? profile_get_string(to->profile, f->name) : NULL, kind);
}

const uint32_t *dump_frames(const struct dump_print *to, const struct dump_thread *t,
			    struct dump_print *in, size_t *n)
{
	*in = *to;
	*n = 0;
	if (t->profile)
		in->profile = t->profile;
	return t->stack ? profile_get_stack(in->profile, t->stack, n) : NULL;
}

/* The same line of the same Python function. */
static bool is_alike(const struct dump_print *in, uint32_t one, uint32_t other)
{
	const struct profile_location *a = profile_get_location(in->profile, one),
				      *b = profile_get_location(in->profile, other);

	return profile_get_mapping(in->profile, a->mapping)->kind == KIND_PYTHON && a->function &&
	       a->function == b->function && a->line == b->line;
}

static void put_frames(const struct dump_print *to, const struct dump_thread *t)
{
	struct dump_print in;
	size_t n, alike = 0;
	const uint32_t *frames = dump_frames(to, t, &in, &n);

	for (size_t i = n; i--;) {
		alike = i + 1 < n && is_alike(&in, frames[i + 1], frames[i]) ? alike + 1 : 1;
		if (alike <= MOST_ALIKE)
			put_frame(&in, frames[i]);
		else if (!i || !is_alike(&in, frames[i], frames[i - 1]))
			fprintf(to->out, "  [Previous line repeated %zu more time%s]\n",
				alike - MOST_ALIKE, alike == MOST_ALIKE + 1 ? "" : "s");
	}
}

static void put_thread(const struct dump_print *to, const struct dump_thread *t)
{
	_cleanup_str_ struct str words = {};

	dump_state_words(t, &words);
	fprintf(to->out, "\nThread %d", t->tid);
	if (*t->name) {
		fputs(" \"", to->out);
		put_text(to->out, t->name);
		fputc('"', to->out);
	}
	fprintf(to->out, ": %s", color_code(to->colored, COLOR_YELLOW));
	put_text(to->out, str_cstr(&words));
	fprintf(to->out, "%s\n", color_code(to->colored, COLOR_OFF));
	if (!t->steady)
		fputs("  [read while it ran: these frames may not belong together]\n", to->out);
	put_frames(to, t);
}

void dump_print_text(const struct dump_print *to, const struct dump_process *p)
{
	const char *words = dump_life_words(to->life);

	fprintf(to->out, "Process %d: ", p->pid);
	put_text(to->out, *p->name ? p->name : "[unknown]");
	if (p->version)
		fprintf(to->out, ", Python %u.%u", p->version >> 8, p->version & 0xff);
	else if (to->life == LIFE_GOES_ON) /* else nobody can tell */
		fputs(", not Python", to->out);
	fprintf(to->out, ", %zu thread%s\n", p->threads.n, p->threads.n == 1 ? "" : "s");
	if (*words)
		fprintf(to->out, "  [%s]\n", words);
	vec_foreach(t, &p->threads)
		put_thread(to, t);
}
