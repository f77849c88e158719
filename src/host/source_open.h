/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which source files may be put into a page or a report. A recorded program chooses the names, so a name is no
 * reason to show anything: a file must be one that the user who asked may read without krait.
 */
#ifndef HOST_SOURCE_OPEN_H
#define HOST_SOURCE_OPEN_H

#include "host/caller.h"
#include "cli/options.h"
#include "cli/values.h"
#include "base/vec.h"
#include "proc/owner.h"
#include "profile/profile.h"

enum source_mode { SOURCE_OWN, SOURCE_ALL, SOURCE_NONE };

/* --source, --no-source */
struct source_options {
	bool all, none;
};

#define SOURCE_ROW(at, member) .field = (at) + offsetof(struct source_options, member)
/* @where: where the text is to be seen, "html: "; @own: what is shown without these options. */
#define SOURCE_ROWS(at, where, own)                                                                \
	{.name = "source",                                                                         \
	 .set = value_flag,                                                                        \
	 SOURCE_ROW(at, all),                                                                      \
	 .help = where "source text of every .py and .pyx file that you may read; " own},          \
	{                                                                                          \
		.name = "no-source", .set = value_flag, SOURCE_ROW(at, none),                      \
		.help = where "no source text"                                                     \
	}

/* What the options ask for; -EINVAL + message if they exclude each other. */
_must_use_ int source_options_mode(const struct source_options *o, enum source_mode *ret);

struct source_rules {
	const struct caller *caller;
	enum source_mode mode;
};

/*
 * Opens absolute @path below directory @root: a regular file that has this name itself, ends in .py or
 * .pyx, and that no link leads to from outside of @root; without any of krait's capabilities, as
 * the user who called. SOURCE_OWN: it must be theirs; root's files then are those that everybody
 * may read. A descriptor, or -errno (no message): -EPERM where it isn't theirs, -EACCES where they can't.
 */
_must_use_ int source_open_below(const struct source_rules *r, int root, const char *path);

/* The same below krait's own root. */
_must_use_ int source_open(const struct source_rules *r, const char *path);

/* Whether a file there that these rules open belongs to the user who called. */
bool source_is_own(const struct source_rules *r, const char *path);

/*
 * A recording in a file, whose source text is asked for. The file can come from anywhere, and nothing in
 * it proves that it was recorded here: a page made of it has source text with SOURCE_ALL alone.
 */
struct source_recorded {
	struct source_rules rules;
	struct profile *p;
	int64_t since_ns;	 /* when it ran */
	VEC(const char *) shown; /* files of which lines went into a page; strings of @p */
};

/* Whether text from the memory of a process of @owner may be shown: it is all of the same user. */
bool source_memory_shown(const struct source_rules *r, const struct proc_owner *owner);

/* What a page of the recording may have: render_options.open_source, or NULL. */
#define SOURCE_OF_PAGE(s) ((s)->rules.mode == SOURCE_ALL ? source_open_recorded : NULL)

/* render_options.source_shown. @recorded: struct source_recorded *. */
void source_shown(void *recorded, const char *path);

/* Tells of which files lines went into @output (NULL: standard output), and forgets them. */
void source_say_shown(struct source_recorded *s, const char *output);

/* When it ran: if the profile doesn't say, it is as old as its file, @path ("-": nobody knows). */
int64_t source_ran(struct profile *p, const char *path);

/* A function's text is what ran if it didn't change after this. */
int64_t source_since(const struct source_recorded *s, uint32_t function);

/* render_options.open_source. @recorded: struct source_recorded *. */
_must_use_ int source_open_recorded(void *recorded, const char *path, int64_t *since_ns);

/*
 * Whether @owner too can open the file that @fd is, by the same name: what a process makes krait
 * look at it must be able to look at itself.
 */
bool source_owner_may(const struct source_rules *r, int root, const char *path, int fd,
		      const struct proc_owner *owner);

/* The root directory of a process that has another one than krait, if the user who called may go there. */
_must_use_ int source_root_of(const struct source_rules *r, int procdir);

/* Whether a file of this name may be shown at all. */
bool source_named(const char *path);

#endif
