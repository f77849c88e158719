/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options that choose what is shown. They are the same in all commands; each command puts their
 * rows into its own table. @base: offset of the struct view_options (view/filter/options.h) in the
 * command's options.
 */
#ifndef CLI_OPTIONS_VIEW_OPTIONS_H
#define CLI_OPTIONS_VIEW_OPTIONS_H

#include "cli/options/options.h"
#include "cli/options/values.h"
#include "view/filter/unmatched.h"
#include "view/view.h"

int view_value_pattern(void *field, const char *text); /* appends a pattern to a pattern_texts */
/* appends "KEY=PATTERN" to a pattern_texts */
int view_value_label(void *field, const char *text);
/* appends a thread state to a pattern_texts */
int view_value_state(void *field, const char *text);
/* sets the bit of a kind of frames in an unsigned, in addition to earlier ones */
int view_value_kind(void *field, const char *text);
/* sets an enum view_grain: frames are lines */
int view_value_lines(void *field, const char *text);
/* sets an enum view_grain: frames are functions */
int view_value_functions(void *field, const char *text);
/* sets an enum view_grain: frames are modules */
int view_value_modules(void *field, const char *text);

/* sets a uint64_t to the end of the time that is shown, in ns, at least 1 */
int view_value_until(void *field, const char *text);
/* appends a package name ("shop", "company.shop") to a pattern_texts */
int view_value_package(void *field, const char *text);

/* sets an enum view_native by one of its words */
int view_value_native(void *field, const char *text);

/* sets an unsigned to a number of table rows, 1 to 1,000,000 */
int view_value_rows(void *field, const char *text);

/*
 * Warns that no frame belongs to @package, which is a result of view_mine(). If @package is NULL,
 * doesn't warn.
 */
void view_say_unknown(const char *package);

/* Returns the heading of a table that shows @value, and whose rows are the values of label @by. */
const char *view_by_heading(const char *by, const char *value);

/* Checks that the options don't exclude each other. 0, or -EINVAL + message. */
_must_use_ int view_options_check(const struct view_options *o);

/*
 * Warns of patterns that match nothing in profile @p. Call it before @p is filtered. 0 or -ENOMEM +
 * message.
 */
_must_use_ int view_options_warn(const struct view_options *o, struct profile *p);
/* warns of the patterns in @u, which match nothing */
void view_options_warn_of(const struct unmatched *u);

#define VIEW_ROW(base, member) .field = (base) + offsetof(struct view_options, member)

#define VIEW_STATES                                                                                \
	"running runnable stolen gil stop-the-world critical-section lock sleep net poll loop "    \
	"pipe disk child page-fault signal stopped frozen traced other"

/* clang-format off */
#define VIEW_SAMPLE_ROWS(base)                                                                     \
	{.group = "What is shown (everything by default)",                                         \
	 .name = "process", .arg = "PATTERN", .set = view_value_pattern,                           \
	 VIEW_ROW(base, processes),                                                                \
	 .help = "processes by name or id; a pattern is the whole text, a glob or a /regex/; "     \
		 "each of these options may be repeated"},                                         \
	{.name = "thread", .arg = "PATTERN", .set = view_value_pattern,                            \
	 VIEW_ROW(base, threads),                                                                  \
	 .help = "threads by name or id"},                                                         \
	{.name = "module", .arg = "PATTERN", .set = view_value_pattern,                            \
	 VIEW_ROW(base, modules),                                                                  \
	 .help = "samples taken in this module, in its submodules, or in native code that it "     \
		 "called: json, libz.so.1, [kernel]"},                                             \
	{.name = "kind", .arg = "KIND", .set = view_value_kind,                                    \
	 VIEW_ROW(base, kinds), .complete = "python native kernel jit gc mark",                    \
	 .help = "samples taken in code of this kind: python, native, kernel, jit, gc (with all "  \
		 "that the garbage collector calls), mark"},                                       \
	{.name = "label", .arg = "KEY=PATTERN", .set = view_value_label,                           \
	 VIEW_ROW(base, labels),                                                                   \
	 .help = "samples whose label KEY matches: on=10.0.0.5:5432"},                             \
	{.name = "state", .arg = "STATE", .set = view_value_state,                                 \
	 VIEW_ROW(base, states), .complete = VIEW_STATES,                                          \
	 .help = "samples of threads in this state: running, net, lock, sleep and others; waits "  \
		 "are those of --wall"},                                                           \
	{.name = "focus", .arg = "PATTERN", .set = view_value_pattern,                             \
	 VIEW_ROW(base, focus),                                                                    \
	 .help = "stacks with a frame that matches: a function (json.loads, Spam.eggs), a "        \
		 "module or package, a file or FILE:LINE"},                                        \
	{.name = "ignore", .arg = "PATTERN", .set = view_value_pattern,                            \
	 VIEW_ROW(base, ignore),                                                                   \
	 .help = "stacks without a frame that matches"},                                           \
	{.name = "hide", .arg = "PATTERN", .set = view_value_pattern,                              \
	 VIEW_ROW(base, hide),                                                                     \
	 .help = "leave out frames that match; their time counts for their callers"},              \
	{.name = "show", .arg = "PATTERN", .set = view_value_pattern,                              \
	 VIEW_ROW(base, show),                                                                     \
	 .help = "leave out frames that don't match"}

#define VIEW_MINE_ROW(base)                                                                        \
	{.name = "mine", .arg = "PACKAGE", .set = view_value_package, VIEW_ROW(base, mine),        \
	 .help = "count this package as your own code, although it is installed like a "           \
		 "library; may be repeated"}

#define VIEW_TIME_ROWS(base)                                                                       \
	{.name = "since", .arg = "TIME", .set = value_time,                                        \
	 VIEW_ROW(base, since_ns),                                                                 \
	 .help = "from this time after the start of the recording on: 10, 500ms, 2m"},             \
	{.name = "until", .arg = "TIME", .set = view_value_until,                                  \
	 VIEW_ROW(base, until_ns),                                                                 \
	 .help = "up to this time after the start of the recording"}

#define VIEW_GRAIN_ROWS(base)                                                                      \
	{.name = "lines", .set = view_value_lines, VIEW_ROW(base, grain),                          \
	 .help = "a frame is a line"},                                                             \
	{.name = "functions", .set = view_value_functions, VIEW_ROW(base, grain),                  \
	 .help = "a frame is a function, whatever its line"},                                      \
	{.name = "modules", .set = view_value_modules, VIEW_ROW(base, grain),                      \
	 .help = "a frame is a module"}

#define VIEW_INVERT_ROW(base)                                                                      \
	{.name = "invert", .set = value_flag, VIEW_ROW(base, invert),                              \
	 .help = "innermost functions first, their callers above them"}

#define VIEW_NATIVE_ROW(base)                                                                      \
	{.name = "native", .arg = "WHICH", .set = view_value_native, VIEW_ROW(base, native),       \
	 .initial = "full: all that were recorded", .complete = "leaf full none",                  \
	 .help = "which native and kernel frames are shown: leaf: those that the innermost "       \
		 "Python function called; none: no such frames"}

/*
 * The row of --by, for tables without stacks: they have a row for each value of the label, where a
 * picture has a root frame.
 */
#define VIEW_BY_OWN_ROW(base, otherwise, words)                                                    \
	{.name = "by", .arg = "WHAT", .set = value_string, VIEW_ROW(base, by),                     \
	 .initial = (otherwise), .complete = "process thread cgroup gil state on", .help = (words)}
#define VIEW_BY_ROW(base)                                                                          \
	VIEW_BY_OWN_ROW(base, "process where there are several",                                   \
			"an outermost frame for each process, thread, cgroup, gil, state or "      \
			"value of another label")
/* clang-format on */

#define VIEW_SHAPE_ROWS(base)                                                                      \
	VIEW_GRAIN_ROWS(base), VIEW_INVERT_ROW(base), VIEW_NATIVE_ROW(base), VIEW_BY_ROW(base)
#define VIEW_ROWS(base) VIEW_SAMPLE_ROWS(base), VIEW_TIME_ROWS(base), VIEW_SHAPE_ROWS(base)

#endif
