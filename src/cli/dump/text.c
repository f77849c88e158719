/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait dump` for people: prints a traceback of each thread, as Python does, with native and
 * kernel functions in it. Control characters are removed from what comes from the program (names,
 * source).
 */
#include <limits.h>
#include <stdlib.h>

#include "cli/color.h"
#include "cli/dump/dump.h"
#include "live/text.h"
#include "picture/html/source_text.h"

#define SOURCE_COLUMNS 200 /* a source line is shown up to this many columns */
/*
 * of equal frames that follow each other (recursion), only this many are printed, as in CPython's
 * tracebacks
 */
#define MOST_ALIKE 3

void dump_put_text(FILE *out, const char *s)
{
	_cleanup_str_ struct str clean = {};

	text_clip(&clean, s, INT_MAX, true);
	fputs(str_cstr(&clean), out);
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
	/* a running thread that couldn't be sampled: nothing more is known of it */
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
		str_addf(ret, " (%s)", t->peer[0] ? t->peer : t->target);
	if (t->idle)
		str_add(ret, ", no work");
	if (t->wait.disk)
		str_add(ret, ", uninterruptible");
	if (t->gil == GIL_HELD)
		str_add(ret, ", holds the GIL");
	/* the thread waited for the GIL when a signal stopped it */
	if (t->gil == GIL_WAITING) {
		str_add(ret, ", waits for the GIL");
		add_holder(t, ret);
	}
}

/* Returns how many columns the first @n bytes of @s take. */
static int columns_of(const char *s, size_t n)
{
	_cleanup_str_ struct str part = {};

	str_add_n(&part, s, n);
	return text_width(str_cstr(&part), true);
}

/*
 * Prints carets below the expression that is being executed, unless it is the whole line. @text is
 * the source line without its first @indent bytes.
 */
static void put_carets(const struct dump_print *to, const struct profile_location *l,
		       const struct str *text, size_t indent)
{
	size_t from = (size_t)l->column - 1 - indent, end = (size_t)l->end_column - 1 - indent;
	int before, n;

	if (l->end_line > l->line)
		end = text->n;
	if (!l->end_column || (size_t)l->column <= indent || end > text->n || end <= from ||
	    (from == 0 && end == text->n))
		return;
	before = columns_of(text->s, from);
	n = MIN(columns_of(text->s + from, end - from), SOURCE_COLUMNS - before);
	if (n <= 0)
		return;
	fprintf(to->out, "    %*s%s", before, "", color_code(to->colored, COLOR_RED));
	while (n--)
		fputc('^', to->out);
	fprintf(to->out, "%s\n", color_code(to->colored, COLOR_OFF));
}

/*
 * Copies a source line. Blanks replace NULs, which would end the text, and tabs, which have no
 * fixed width.
 */
static void take_text(const char *line, size_t n, struct str *ret)
{
	for (size_t i = 0; i < n; i++)
		str_add_c(ret, line[i] && line[i] != '\t' ? line[i] : ' ');
}

/*
 * Tells whether this source line belongs to another function than the running one. In that case the
 * source text isn't what runs.
 */
static bool is_others(const struct dump_print *to, const struct profile_function *f)
{
	const char *file = profile_get_string(to->profile, f->file), *line;
	bool changed;
	size_t n;

	if (f->start_line <= 0)
		return false;
	line = source_line(to->source, file, f->start_line, &n, &changed);
	return !line || !source_line_begins(line, n, profile_get_string(to->profile, f->name));
}

static void put_source(const struct dump_print *to, const struct profile_location *l,
		       const struct profile_function *f)
{
	const char *file = profile_get_string(to->profile, f->file);
	_cleanup_str_ struct str text = {}, shown = {};
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
	if (!changed && is_others(to, f))
		return;
	if (changed) {
		fputs("    [the file was changed after the process began]\n", to->out);
		return;
	}
	take_text(line + indent, n - indent, &text);
	text_clip(&shown, str_cstr(&text), SOURCE_COLUMNS, true);
	fprintf(to->out, "    %s%s\n", str_cstr(&shown),
		text_width(str_cstr(&text), true) > SOURCE_COLUMNS ? "…" : "");
	if (!text.failed)
		put_carets(to, l, &text, indent);
}

static void put_python(const struct dump_print *to, const struct profile_location *l,
		       const struct profile_function *f)
{
	const char *file = profile_get_string(to->profile, f->file);

	fprintf(to->out, "  File \"%s", color_code(to->colored, COLOR_GREEN));
	dump_put_text(to->out, file);
	fprintf(to->out, "%s\"", color_code(to->colored, COLOR_OFF));
	if (l->line)
		fprintf(to->out, ", line %d", l->line);
	fputs(", in ", to->out);
	dump_put_text(to->out, profile_get_string(to->profile, f->name));
	fputc('\n', to->out);
	put_source(to, l, f);
}

static void put_native(const struct dump_print *to, const struct profile_location *l,
		       const char *name, enum frame_kind kind)
{
	const char *mapping =
		profile_get_string(to->profile, profile_get_mapping(to->profile, l->mapping)->name);
	const char *base = path_base(mapping);

	fprintf(to->out, "  %s ", kind == KIND_KERNEL ? "kernel:" : "native:");
	if (name) {
		dump_put_text(to->out, name);
	} else {
		fputc('[', to->out);
		dump_put_text(to->out, base);
		fprintf(to->out, "+0x%llx]", (unsigned long long)l->address);
	}
	if (kind == KIND_NATIVE && name) {
		fputs(" (", to->out);
		dump_put_text(to->out, base);
		fputc(')', to->out);
	}
	fputc('\n', to->out);
}

/*
 * Prints a mark, which is a frame in brackets that says what is missing: [unsupported: ...]. Marks
 * may quote names of the target's files.
 */
static void put_mark(const struct dump_print *to, const char *text)
{
	fputs("  ", to->out);
	dump_put_text(to->out, text);
	fputc('\n', to->out);
}

struct render_names *dump_names(struct dump_files *files, struct profile *p)
{
	if (files->profile != p) {
		render_names_free(files->names);
		files->names = render_names_new(p);
		files->profile = p;
	}
	return files->names;
}

static const char *file_of(const struct dump_print *to, uint32_t function)
{
	const struct render_names *names = dump_names(to->files, to->profile);

	if (names)
		return render_names_file(names, function);
	return profile_get_string(to->profile, profile_get_function(to->profile, function)->file);
}

/*
 * Prints a frame in one line: " Event.wait (threading.py:655)". A native function takes one line in
 * any case.
 */
static void put_short(const struct dump_print *to, const struct profile_location *l,
		      const struct profile_function *f)
{
	fputs("  ", to->out);
	dump_put_text(to->out, profile_get_string(to->profile, f->name));
	fprintf(to->out, " (%s", color_code(to->colored, COLOR_GREEN));
	dump_put_text(to->out, file_of(to, l->function));
	if (l->line)
		fprintf(to->out, ":%d", l->line);
	fprintf(to->out, "%s)\n", color_code(to->colored, COLOR_OFF));
}

static void put_frame(const struct dump_print *to, uint32_t id)
{
	const struct profile_location *l = profile_get_location(to->profile, id);
	enum frame_kind kind = profile_get_mapping(to->profile, l->mapping)->kind;
	const struct profile_function *f =
		l->function ? profile_get_function(to->profile, l->function) : NULL;

	if (kind == KIND_KERNEL && !to->kernel)
		return;
	if (kind == KIND_PYTHON && f && to->short_frames)
		put_short(to, l, f);
	else if (kind == KIND_PYTHON && f)
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

/* Tells whether both frames are the same line of the same Python function. */
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
		dump_put_text(to->out, t->name);
		fputc('"', to->out);
	}
	fprintf(to->out, ": %s", color_code(to->colored, COLOR_YELLOW));
	dump_put_text(to->out, str_cstr(&words));
	fprintf(to->out, "%s\n", color_code(to->colored, COLOR_OFF));
	if (!t->steady)
		fputs("  [read while it ran: these frames may not belong together]\n", to->out);
	put_frames(to, t);
}

/*
 * Prints the versions of the process's interpreters. A version that several have is printed once.
 */
static void put_versions(const struct dump_print *to, const struct dump_process *p)
{
	fprintf(to->out, ", %s %u.%u", p->pypy ? "PyPy" : "Python", p->version >> 8,
		p->version & 0xff);
	for (size_t i = 0; i < ARRAY_SIZE(p->more) && p->more[i]; i++)
		if (p->more[i] != p->version && (!i || p->more[i] != p->more[i - 1]))
			fprintf(to->out, " and %u.%u", p->more[i] >> 8, p->more[i] & 0xff);
}

void dump_print_text(const struct dump_print *all, const struct dump_process *p)
{
	const char *words = dump_life_words(all->life);
	struct dump_print here = *all, *to = &here;

	/*
	 * If the process hangs, only its kernel frames are known. If it isn't Python, they may be
	 * all that is known. So kernel frames are shown.
	 */
	here.kernel |= p->locked || !p->version;

	fprintf(to->out, "Process %d: ", p->pid);
	dump_put_text(to->out, *p->name ? p->name : "[unknown]");
	if (p->version)
		put_versions(to, p);
	else if (*p->not_understood)
		fprintf(to->out, ", %s, which isn't supported", p->not_understood);
	/* only of a process that still runs does krait know for certain that it isn't Python */
	else if (to->life == LIFE_GOES_ON)
		fputs(", not Python", to->out);
	fprintf(to->out, ", %zu thread%s\n", p->threads.n, p->threads.n == 1 ? "" : "s");
	if (*words)
		fprintf(to->out, "  [%s]\n", words);
	if (p->newer)
		fputs("  [newer than this krait: names of threads aren't read]\n", to->out);
	if (*p->other) {
		fputs("  [a second interpreter isn't shown: ", to->out);
		dump_put_text(to->out, p->other);
		fputs("]\n", to->out);
	}
	vec_foreach(t, &p->threads)
		put_thread(to, t);
}
