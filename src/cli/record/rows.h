/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows that the option tables of several commands share: which processes to sample, how, and with
 * which frames. The rows set members of struct record_options, which must be the first member of
 * the command's own options.
 */
#ifndef CLI_RECORD_ROWS_H
#define CLI_RECORD_ROWS_H

#include "cli/commands.h"
#include "cli/options/values.h"
#include "cli/record/record.h"

#define RECORD_FIELD(f) offsetof(struct record_options, f)

/* clang-format would format the rows of a table in a macro as statements: it is off here. */
/* clang-format off */

/*
 * Rows of the options that choose processes by name, control group or container. @title: their
 * heading, or NULL.
 */
#define RECORD_ROWS_CHOSEN(title)                                                                  \
	{.group = (title),                                                                         \
	 .name = "comm",                                                                           \
	 .arg = "GLOB",                                                                            \
	 .set = value_strings,                                                                     \
	 .field = RECORD_FIELD(session.comms),                                                     \
	 .help = "processes whose command name (as in /proc/PID/comm, often python3) matches, or " \
		 "the name of their script or module (app.py); may be repeated"},                  \
	{.name = "cgroup",                                                                         \
	 .arg = "GLOB",                                                                            \
	 .set = value_strings,                                                                     \
	 .field = RECORD_FIELD(session.cgroups),                                                   \
	 .help = "processes whose control group's path matches, or one of the names in it "        \
		 "(nginx.service); may be repeated"},                                              \
	{.name = "container",                                                                      \
	 .arg = "ID",                                                                              \
	 .set = value_strings,                                                                     \
	 .field = RECORD_FIELD(session.containers),                                                \
	 .help = "processes of this container, by the beginning of its id, or by its name (of "    \
		 "Docker, LXC, systemd-nspawn); may be repeated"}

/*
 * Rows of the options that choose targets. @whom: which processes --pid includes, in words.
 * @beside: with which options --no-children makes sense, in words.
 */
#define RECORD_ROWS_TARGETS_OF(whom, beside)                                                       \
	{.group = "Targets (none of them = every Python process on the machine)",                  \
	 .name = "pid",                                                                            \
	 .letter = 'p',                                                                            \
	 .arg = "PID",                                                                             \
	 .set = value_pid,                                                                         \
	 .field = RECORD_FIELD(session.pids),                                                      \
	 .complete = COMPLETE_PROCESS,                                                             \
	 .help = whom "; may be repeated"},                                                        \
	{.name = "no-children",                                                                    \
	 .set = value_flag,                                                                        \
	 .field = RECORD_FIELD(session.no_children),                                               \
	 .help = beside ": that process only, without its children"},                              \
	RECORD_ROWS_CHOSEN(NULL)

#define RECORD_ROWS_TARGETS                                                                        \
	RECORD_ROWS_TARGETS_OF("this process and all its descendants, also later ones",            \
			       "with --pid or --")

#define RECORD_ROW_WAIT_BUDGET                                                                     \
	{.name = "wait-budget",                                                                    \
	 .arg = "PERCENT",                                                                         \
	 .in_file = OPTION_LIVE,                                                                   \
	 .set = value_budget,                                                                      \
	 .field = RECORD_FIELD(session.wait_budget_ppm),                                           \
	 .initial = "1",                                                                           \
	 .help = "percentage of one CPU's time for taking stacks of waits, from 0.1 to 100; if "   \
		 "all waits would need more, waits are chosen at random"}

#define RECORD_ROW_IDLE_AT                                                                         \
	{.name = "idle-at",                                                                        \
	 .arg = "FUNCTION",                                                                        \
	 .set = value_function,                                                                    \
	 .field = RECORD_FIELD(session.idle_at),                                                   \
	 .help = "threads that wait in this function, or in what it calls, have no work: "         \
		 "MODULE.FUNCTION, MODULE.CLASS.FUNCTION; krait knows those of common pools and "  \
		 "servers; may be repeated"}

#define RECORD_ROWS_SAMPLING(until, how_long, hz)                                                  \
	{.group = "Sampling",                                                                      \
	 .name = "duration",                                                                       \
	 .letter = 'd',                                                                            \
	 .arg = "TIME",                                                                            \
	 .set = value_duration,                                                                    \
	 .field = RECORD_FIELD(session.duration_ns),                                               \
	 .initial = (until),                                                                       \
	 .help = (how_long)},                                                                      \
	{.name = "frequency",                                                                      \
	 .letter = 'F',                                                                            \
	 .arg = "HZ",                                                                              \
	 .set = value_frequency,                                                                   \
	 .field = RECORD_FIELD(session.freq_hz),                                                   \
	 .initial = (hz),                                                                          \
	 .help = "samples per second of CPU time; at most 100k for clocks"},                       \
	{.name = "count",                                                                          \
	 .letter = 'c',                                                                            \
	 .arg = "N",                                                                               \
	 .set = value_count,                                                                       \
	 .field = RECORD_FIELD(session.count),                                                     \
	 .help = "instead of a frequency: one sample every N events on average (nanoseconds for "  \
		 "clocks); k, M and G multiply"},                                                  \
	{.name = "event",                                                                          \
	 .letter = 'e',                                                                            \
	 .arg = "EVENT",                                                                           \
	 .set = value_strings,                                                                     \
	 .field = RECORD_FIELD(session.events),                                                    \
	 .initial = "cpu-clock",                                                                   \
	 .complete = COMPLETE_EVENT,                                                               \
	 .help = "what to sample on: a perf event by name, :u or :k after it for user or kernel "  \
		 "code only, /period=N/ or /freq=HZ/ for a rate of its own; may be "               \
		 "repeated: each event is a value of the recording"}

#define RECORD_ROW_NATIVE(title)                                                                   \
	{.group = (title),                                                                         \
	 .name = "native",                                                                         \
	 .arg = "WHICH",                                                                           \
	 .set = value_native,                                                                      \
	 .field = RECORD_FIELD(session.native),                                                    \
	 .initial = "leaf",                                                                        \
	 .complete = "leaf full none",                                                             \
	 .help = "which frames of C, C++, Rust... are recorded: leaf: those that the innermost "   \
		 "Python function called; full: also those between and above Python functions; "   \
		 "none: no such frames"}

#define RECORD_ROW_ALL                                                                             \
	{.name = "all",                                                                            \
	 .set = value_flag,                                                                        \
	 .field = RECORD_FIELD(session.all),                                                       \
	 .help = "also processes that aren't Python, with their native frames"}

#define RECORD_ROWS_NATIVE                                                                         \
	RECORD_ROW_NATIVE("Native and kernel frames"),                                             \
	{.name = "interpreter-frames",                                                             \
	 .set = value_flag,                                                                        \
	 .field = RECORD_FIELD(session.interpreter_frames),                                        \
	 .help = "with --native=full: show the interpreter's own functions too, and the frames "   \
		 "that `import NAME` replaces"},                                                   \
	{.name = "native-lines",                                                                   \
	 .set = value_flag,                                                                        \
	 .field = RECORD_FIELD(session.native_lines),                                              \
	 .help = "source lines and inlined functions of native frames, where debug information "   \
		 "is there; takes longer"},                                                        \
	{.name = "kernel",                                                                         \
	 .set = value_flag,                                                                        \
	 .field = RECORD_FIELD(session.kernel),                                                    \
	 .help = "show what the kernel did for the program; this is the default"},                 \
	{.name = "no-kernel",                                                                      \
	 .set = value_no_flag,                                                                     \
	 .field = RECORD_FIELD(session.kernel),                                                    \
	 .help = "leave the kernel's frames out; samples in the kernel stay"},                     \
	RECORD_ROW_ALL,                                                                            \
	{.name = "unwind-memory",                                                                  \
	 .arg = "SIZE",                                                                            \
	 .set = value_memory,                                                                      \
	 .field = RECORD_FIELD(session.unwind_memory),                                             \
	 .initial = "64M, or a 256th of the machine's memory if that is more",                     \
	 .help = "limit of memory for the unwind tables of native stacks, from 8M to 4G; "         \
		 "K, M and G multiply by 1024"}

#define RECORD_ROWS_WORDS                                                                          \
	{.name = "verbose",                                                                        \
	 .letter = 'v',                                                                            \
	 .set = value_more,                                                                        \
	 .field = RECORD_FIELD(verbose),                                                           \
	 .help = "print more messages; -vv prints all"},                                           \
	VALUE_QUIET_ROW(RECORD_FIELD(quiet), NULL),                                                \
	VALUE_COLOR_ROW(RECORD_FIELD(color))

/* @otherwise: what happens if the option isn't given, in words. */
#define RECORD_ROW_SERVICE_FROM(otherwise)                                                         \
	{.name = "service-from",                                                                   \
	 .arg = "RULES",                                                                           \
	 .set = record_value_services,                                                             \
	 .field = RECORD_FIELD(session.services),                                                  \
	 .initial = otherwise,                                                                     \
	 .help = "label each sample with the service of its process (service, version, pod and "   \
		 "image, as far as they are known), which is named by the first of these rules "   \
		 "that knows it: otel, dd, pod, container, image, unit, venv, script"}

/* clang-format on */

#endif
