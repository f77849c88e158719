/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the text of one frame in folded stacks; see folded_frame.h. */
#include "format/common/folded_frame.h"

#include "profile/mark.h"

#define TEXT(s, n) ((struct folded_text){(s), (n)})

static bool has_prefix(const char *s, size_t n, const char *prefix)
{
	size_t m = strlen(prefix);

	return n >= m && memcmp(s, prefix, m) == 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns the number of digits at the end of @s. */
static size_t digits_at_end(const char *s, size_t n)
{
	size_t digits = 0;

	while (digits < n && is_digit(s[n - 1 - digits]))
		digits++;
	return digits;
}

/* Returns a text as a line number; 0 if the text isn't a number below 2^31. */
static int32_t number(const char *s, size_t n)
{
	int64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		v = v * 10 + (s[i] - '0');
		if (v > INT32_MAX)
			return 0;
	}
	return (int32_t)v;
}

/*
 * Tells whether the text is the name of a source file in another language than Python. Every other
 * file with a line number counts as Python's.
 */
static bool native_source(const char *s, size_t n)
{
	static const char *const endings[] = {
		".c",  ".cc",  ".cpp", ".cxx", ".h",	".hh", ".hpp", ".hxx", ".inl",
		".rs", ".go",  ".S",   ".s",   ".asm",	".f",  ".f90", ".cu",  ".m",
		".mm", ".zig", ".js",  ".ts",  ".java", ".rb", ".php"};

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (str_n_ends(s, n, endings[i]))
			return true;
	return false;
}

static bool python_source(const char *s, size_t n)
{
	return str_n_ends(s, n, ".py") || str_n_ends(s, n, ".pyx") || str_n_ends(s, n, ".ipynb") ||
	       (n > 1 && s[0] == '<' && s[n - 1] == '>');
}

/*
 * Reads the suffix that stackcollapse-perf.pl, or krait with --annotate, adds to a frame's text to
 * tell the kind of frame. Suffix _[w] marks kernel frames of the stack that woke the thread.
 * Returns the length of the text without the suffix.
 */
static size_t take_annotation(const char *s, size_t n, struct folded_frame *f)
{
	static const struct {
		char letter;
		enum frame_kind kind;
	} kinds[] = {{'k', KIND_KERNEL}, {'j', KIND_JIT}, {'i', KIND_NATIVE},
		     {'n', KIND_NATIVE}, {'g', KIND_GC},  {'w', KIND_KERNEL}};

	if (n < 5 || s[n - 4] != '_' || s[n - 3] != '[' || s[n - 1] != ']')
		return n;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (s[n - 2] != kinds[i].letter)
			continue;
		f->kind = kinds[i].kind;
		f->inlined = s[n - 2] == 'i';
		return n - 4;
	}
	return n;
}

/* Reads "[libz.so.1+0x1234]" or "[kernel+0xffff]". False: the text isn't of that form. */
static bool take_address(const char *s, size_t n, struct folded_frame *f)
{
	size_t at = n - 1;
	uint64_t v = 0;

	if (n < 6 || s[0] != '[' || s[n - 1] != ']')
		return false;
	while (at > 3 && strchr("0123456789abcdef", s[at - 1]) && s[at - 1])
		at--;
	if (at == n - 1 || n - 1 - at > 16 || memcmp(s + at - 3, "+0x", 3) || at - 3 <= 1)
		return false;
	for (size_t i = at; i < n - 1; i++)
		v = v << 4 | (unsigned)(is_digit(s[i]) ? s[i] - '0' : s[i] - 'a' + 10);
	f->unnamed = true;
	f->address = v;
	f->mapping = TEXT(s + 1, at - 4);
	if (has_prefix(f->mapping.s, f->mapping.n, "kernel"))
		f->kind = KIND_KERNEL;
	return true;
}

/*
 * Tells whether the text names a mapping, such as "[unknown]" or "libz.so.1". Some tools write a
 * mapping in place of a source file that they don't know, even with a line number after it.
 */
static bool is_mapping(const char *s, size_t n)
{
	const char *so = memmem(s, n, ".so", 3);
	size_t rest = so ? (size_t)(s + n - so) - 3 : 0;

	if (n > 1 && s[0] == '[' && s[n - 1] == ']')
		return true;
	if (so && so > s && (!rest || (rest > 1 && so[3] == '.' && is_digit(so[4]))))
		return true;
	return str_n_ends(s, n, ".dylib") || str_n_ends(s, n, ".dll") || str_n_ends(s, n, ".exe");
}

/*
 * Stores the place that a frame names, which is a source file or a mapping. It is a source file if
 * it has a line number or the extension of source code. A function with a slash in its name, such
 * as java/lang/Thread.run, isn't Python's.
 */
static void set_place(const char *s, size_t n, bool has_line, struct folded_frame *f)
{
	bool python = python_source(s, n), native = native_source(s, n);

	if (is_mapping(s, n) || (!has_line && !python && !native)) {
		f->mapping = TEXT(s, n);
		return;
	}
	f->file = TEXT(s, n);
	if (f->kind == KIND_MAX && !native && (python || !memchr(f->name.s, '/', f->name.n)))
		f->kind = KIND_PYTHON;
}

/* Reads what a frame has in parentheses at its end: "FILE:LINE", a source file, or a mapping. */
static void take_place(const char *s, size_t n, struct folded_frame *f)
{
	size_t digits = digits_at_end(s, n);
	bool has_line = digits && digits < n && s[n - digits - 1] == ':' && n - digits > 1;

	if (has_line)
		f->line = number(s + n - digits, digits);
	set_place(s, has_line ? n - digits - 1 : n, has_line, f);
}

/* Reads "name (place)". Only parentheses at the end of the text count. */
static bool take_parentheses(const char *s, size_t n, struct folded_frame *f)
{
	size_t depth = 0;

	if (n < 4 || s[n - 1] != ')')
		return false;
	for (size_t i = n; i-- > 1;) {
		depth += s[i] == ')';
		depth -= s[i] == '(';
		if (depth)
			continue;
		/*
		 * Without a blank before them, the parentheses belong to a name of C++: "f(int)". A
		 * number in parentheses is no place either: py-spy writes "thread (12)" for a
		 * thread.
		 */
		if (s[i - 1] != ' ' || i < 2 || i + 2 >= n || digits_at_end(s, n - 1) == n - i - 2)
			return false;
		f->name = TEXT(s, i - 1);
		take_place(s + i + 1, n - i - 2, f);
		return true;
	}
	return false;
}

/* Reads "FILE:FUNCTION:LINE", as Austin and CPython 3.15's own profiler write it. */
static bool take_colons(const char *s, size_t n, struct folded_frame *f)
{
	size_t digits = digits_at_end(s, n), end, at;

	if (!digits || digits + 3 > n || s[n - digits - 1] != ':')
		return false;
	end = n - digits - 1;
	for (at = end; at && s[at - 1] != ':'; at--)
		;
	/*
	 * "std::sort:12" isn't FILE:FUNCTION:LINE, because its file would be empty or end in a
	 * colon
	 */
	if (at < 2 || at == end || s[at - 2] == ':')
		return false;
	f->file = TEXT(s, at - 1);
	f->name = TEXT(s + at, end - at);
	f->line = number(s + n - digits, digits);
	if (f->kind == KIND_MAX)
		f->kind = native_source(f->file.s, f->file.n) ? KIND_NATIVE : KIND_PYTHON;
	return true;
}

/*
 * Returns where the name of a V8 function ends: at the blank before its file, or at @n if no file
 * follows.
 */
static size_t end_of_v8_name(const char *s, size_t n)
{
	static const char *const starts[] = {
		" /", " file:", " node:", " http:", " https:", " internal/"};
	const char *last = memrchr(s, ' ', n);

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		const char *at = memmem(s, n, starts[i], strlen(starts[i]));

		if (at)
			return (size_t)(at - s);
	}
	return last ? (size_t)(last - s) : n;
}

/* Takes a number such as ":39" off the end of the text. False: the text doesn't end in a number. */
static bool take_number_at_end(const char *s, size_t *n, int32_t *ret)
{
	size_t digits = digits_at_end(s, *n);

	if (!digits || digits + 1 >= *n || s[*n - digits - 1] != ':')
		return false;
	*ret = number(s + *n - digits, digits);
	*n -= digits + 1;
	return true;
}

/*
 * Reads "LazyCompile:*foo /srv/app.js:39", the form in node's perf maps. The sign before the name
 * (*, ~ and others) tells how V8 compiled the function. A column may follow the line.
 */
static bool take_v8(const char *s, size_t n, struct folded_frame *f)
{
	static const char *const kinds[] = {"LazyCompile:", "Function:", "Script:", "Eval:"};
	size_t i = 0, end;
	int32_t column;

	while (i < ARRAY_SIZE(kinds) && !has_prefix(s, n, kinds[i]))
		i++;
	if (i == ARRAY_SIZE(kinds))
		return false;
	s += strlen(kinds[i]);
	n -= strlen(kinds[i]);
	if (n && strchr("*~^+", *s) && *s) {
		s++;
		n--;
	}
	end = end_of_v8_name(s, n);
	f->name = end ? TEXT(s, end) : TEXT("(anonymous)", strlen("(anonymous)"));
	if (f->kind == KIND_MAX)
		f->kind = KIND_NATIVE;
	if (end + 1 >= n)
		return n > 0;
	s += end + 1;
	n -= end + 1;
	if (take_number_at_end(s, &n, &f->line) && take_number_at_end(s, &n, &column))
		f->line = column; /* the last number is the column, the number before it the line */
	f->file = TEXT(s, n);
	return true;
}

static enum frame_kind kind_of_mapping(const struct folded_text *m)
{
	char name[64];

	if (!m->n || m->s[0] != '[' || m->n >= sizeof(name))
		return KIND_NATIVE;
	memcpy(name, m->s, m->n);
	name[m->n] = '\0';
	return profile_kind(name);
}

static bool is_text(const char *s, size_t n, const char *text)
{
	return n == strlen(text) && !memcmp(s, text, n);
}

/*
 * Reads frames that Austin (-g) and CPython 3.15's own profiler insert for code that isn't Python.
 */
static bool take_made_up(const char *s, size_t n, struct folded_frame *f)
{
	static const char collector[] = "garbage collector";

	if (is_text(s, n, ":GC:") || is_text(s, n, "~:<GC>:0") || is_text(s, n, "<GC>")) {
		f->kind = KIND_GC;
		f->name = TEXT(collector, sizeof(collector) - 1);
		return true;
	}
	if (!is_text(s, n, "~:<native>:0"))
		return false;
	f->kind = KIND_NATIVE;
	f->name = TEXT(s + 2, n - 4);
	return true;
}

void folded_frame_parse(const char *s, size_t n, struct folded_frame *ret)
{
	*ret = (struct folded_frame){.kind = KIND_MAX};
	if (take_made_up(s, n, ret))
		return;
	if (mark_is(s, n)) {
		ret->kind = KIND_MARK;
		ret->name = TEXT(s, n);
		return;
	}
	n = take_annotation(s, n, ret);
	if (!take_v8(s, n, ret) && !take_address(s, n, ret) && !take_parentheses(s, n, ret) &&
	    !take_colons(s, n, ret))
		ret->name = TEXT(s, n);
	if (ret->kind == KIND_MAX)
		ret->kind = kind_of_mapping(&ret->mapping);
}

bool folded_frame_parse_torch(const char *s, size_t n, struct folded_frame *ret)
{
	const char *end = memmem(s, n, "): ", 3);
	size_t before = end ? (size_t)(end - s) : 0, digits = digits_at_end(s, before);
	size_t file = digits && digits < before ? before - digits - 1 : 0;

	if (!file || s[file] != '(' || before + 3 >= n || !python_source(s, file))
		return false;
	*ret = (struct folded_frame){.kind = KIND_PYTHON,
				     .file = TEXT(s, file),
				     .name = TEXT(end + 3, n - before - 3),
				     .line = number(s + file + 1, digits)};
	return true;
}

void folded_frame_make(struct folded_text name, struct folded_text place, int32_t line,
		       struct folded_frame *ret)
{
	*ret = (struct folded_frame){.kind = KIND_MAX, .name = name, .line = line};
	if (!place.n && line <= 0 && take_made_up(name.s, name.n, ret))
		return;
	if (mark_is(name.s, name.n))
		ret->kind = KIND_MARK;
	else if (!place.n && line <= 0 && take_v8(name.s, name.n, ret))
		;
	else if (!take_address(name.s, name.n, ret) && place.n)
		set_place(place.s, place.n, line > 0, ret);
	if (ret->kind == KIND_MAX)
		ret->kind = kind_of_mapping(&ret->mapping);
}

static uint32_t string(struct profile *p, struct folded_text t)
{
	return t.n ? profile_string_n(p, t.s, t.n) : 0;
}

static uint32_t mapping_of(struct profile *p, const struct folded_frame *f)
{
	static const char *const by_kind[KIND_MAX] = {
		[KIND_PYTHON] = "[python]", [KIND_NATIVE] = "[unknown]",
		[KIND_KERNEL] = "[kernel]", [KIND_JIT] = "[jit]",
		[KIND_GC] = "[gc]",	    [KIND_MARK] = MARK_MAPPING};
	struct profile_mapping m = {.kind = f->kind};

	if (f->mapping.n && f->unnamed && f->kind == KIND_KERNEL) {
		char name[80];

		snprintf(name, sizeof(name), "[%.*s]", (int)MIN(f->mapping.n, (size_t)70),
			 f->mapping.s);
		m.name = profile_string(p, name);
	} else if (f->mapping.n) {
		m.name = string(p, f->mapping);
		/*
		 * As in a recording, the name of the mapping decides the kind, whatever kind a
		 * suffix of the frame gives.
		 */
		m.kind = profile_kind(profile_get_string(p, m.name));
	} else {
		m.name = profile_string(p, by_kind[f->kind]);
	}
	return profile_mapping(p, &m);
}

struct profile_location folded_frame_location(struct profile *p, const struct folded_frame *f)
{
	struct profile_location l = {
		.mapping = mapping_of(p, f), .line = f->line, .address = f->address};

	if (!f->unnamed)
		l.function =
			profile_function(p, &(struct profile_function){.name = string(p, f->name),
								       .file = string(p, f->file)});
	return l;
}

/* Returns the offset of @what in @s; @n if @s doesn't contain @what. */
static size_t find(const char *s, size_t n, const char *what)
{
	const char *at = memmem(s, n, what, strlen(what));

	return at ? (size_t)(at - s) : n;
}

/* Reads krait's root frame of a process or thread: "NAME (pid 12)". */
static bool root_of_krait(const char *s, size_t n, struct folded_label ret[2])
{
	static const struct {
		const char *before, *id, *name;
	} forms[] = {{" (pid ", "pid", "process"}, {" (tid ", "tid", "thread"}};

	if (!n || s[n - 1] != ')')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		size_t digits = digits_at_end(s, n - 1), before = strlen(forms[i].before);

		if (!digits || digits + before + 1 >= n ||
		    memcmp(s + n - 1 - digits - before, forms[i].before, before))
			continue;
		ret[0] = (struct folded_label){forms[i].name, TEXT(s, n - 1 - digits - before)};
		ret[1] = (struct folded_label){forms[i].id, TEXT(s + n - 1 - digits, digits)};
		return true;
	}
	return false;
}

/*
 * Reads a process or thread without a name: the root frame "tid 34", or "(tid 34)" in the name that
 * a viewer's file gives a thread.
 */
static bool root_without_name(const char *s, size_t n, struct folded_label ret[2])
{
	size_t bracket = n && s[0] == '(' && s[n - 1] == ')', start = bracket + strlen("pid ");
	size_t end = n - bracket;
	bool process = has_prefix(s + bracket, end - bracket, "pid ");

	if ((!process && !has_prefix(s + bracket, end - bracket, "tid ")) || end <= start ||
	    digits_at_end(s, end) != end - start)
		return false;
	ret[0] = (struct folded_label){process ? "pid" : "tid", TEXT(s + start, end - start)};
	return true;
}

/*
 * Reads py-spy's root frames: `process 12:"python app.py"`, `thread (12): Main`, `thread (12)`; see
 * its src/stack_trace.rs.
 */
static bool root_of_pyspy(const char *s, size_t n, struct folded_label ret[2])
{
	bool process = has_prefix(s, n, "process "), thread = has_prefix(s, n, "thread (");
	size_t start = process ? strlen("process ") : strlen("thread (");
	size_t end, name;

	if (!process && !thread)
		return false;
	end = start + find(s + start, n - start, process ? ":" : ")");
	if (end == n || end == start)
		return false;
	ret[0] = (struct folded_label){process ? "pid" : "tid", TEXT(s + start, end - start)};
	name = end + (process ? 1 : strlen("): "));
	if (name + 1 < n && s[name] == '"' && s[n - 1] == '"') {
		name++;
		n--;
	}
	if (name < n)
		ret[1] = (struct folded_label){process ? "process" : "thread",
					       TEXT(s + name, n - name)};
	return true;
}

/* Reads Austin's root frames: "P12", "T34", "T12:34" (process or interpreter: thread), "tid:34". */
static bool root_of_austin(const char *s, size_t n, struct folded_label ret[2])
{
	size_t start = has_prefix(s, n, "tid:") ? 4 : 1, digits = digits_at_end(s, n);

	if (n < 2 || !digits || (s[0] != 'P' && s[0] != 'T' && start == 1))
		return false;
	if (digits + start != n) {
		size_t before = n - digits;

		if (s[0] != 'T' || before < 3 || s[before - 1] != ':' ||
		    digits_at_end(s, before - 1) != before - 2)
			return false;
		start = before;
	}
	ret[0] = (struct folded_label){s[0] == 'P' ? "pid" : "tid", TEXT(s + start, n - start)};
	return true;
}

void folded_root_parse(const char *s, size_t n, struct folded_label ret[2])
{
	ret[0] = ret[1] = (struct folded_label){};
	if (!root_of_krait(s, n, ret) && !root_without_name(s, n, ret) && !root_of_pyspy(s, n, ret))
		root_of_austin(s, n, ret);
}
