/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interactive view: which page is shown, which line is chosen, what a key does. Draws itself on
 * a struct screen; knows neither terminals nor where samples come from.
 */
#ifndef LIVE_BROWSE_H
#define LIVE_BROWSE_H

#include "live/calltree.h"
#include "live/screen.h"
#include "live/table.h"

enum page { PAGE_TABLE, PAGE_TREE, PAGE_FLAME, PAGE_HELP };
enum prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_SCREEN, PROMPT_PROFILE };

/* What a key asks of whoever owns the session. */
enum browse_do {
	DO_NOTHING,
	DO_QUIT,
	DO_RESET,
	DO_PAUSE, /* .paused has changed */
	DO_FASTER,
	DO_SLOWER,
	DO_WRITE_SCREEN, /* to the file named in .input */
	DO_WRITE_PROFILE,
};

/* What the head says beside the table; filled by the session's owner before drawing. */
struct browse_facts {
	const char *target; /* "pid 123", "every Python process" */
	double hz, interval,
		recent; /* recent: seconds that shares are of; 0: of the last interval */
	uint64_t interval_samples;
	uint64_t samples, lost, incomplete, unknown, unsupported;
	unsigned processes, threads;		 /* that were sampled since the start */
	unsigned processes_alive, threads_alive; /* of these, at the end of the last interval */
	unsigned condensed;			 /* how often what was rare was summed up */
	double cpu, gil; /* percent of one CPU in the last interval; -1: not known */
	double gc;	 /* percent of what the last interval had */
};

/* A line of the tree page. */
struct tree_line {
	uint32_t node;
	uint16_t indent;
	bool has_children, open;
	bool only; /* what the line above calls, or is called by, alone: stands as far left as that */
};

/* A box of the flame view, as it was drawn last. */
struct flame_box {
	uint32_t node;
	int y, from, to; /* columns [from, to) */
};

struct browse {
	struct table *shown;
	struct browse_facts facts;
	enum page page, before_help;
	bool paused, ended;
	bool invert; /* trees begin with the innermost functions until they are turned */

	/* The table: the chosen line is that of .key once it was chosen with a key. */
	size_t at, from; /* chosen line; first one on the screen */
	uint64_t key;
	bool held;

	/* Tree and flame: of this row. */
	struct calltree tree;
	char *opened; /* its name */
	VEC(struct tree_line) lines;
	struct map toggled; /* node -> opened or closed by hand: 1, 2 */
	size_t tree_at, tree_from;
	uint32_t zoom, chosen; /* flame: nodes */
	VEC(struct flame_box) boxes;

	enum prompt prompt;
	struct str input;
	char message[256]; /* until the next key */
	int page_rows;	   /* lines of the list on the screen, since it was drawn last */
};

void browse_init(struct browse *b, struct table *v);
void browse_fini(struct browse *b);

/* After a tick, a reset or a change of the table: 0 or -ENOMEM + message. */
_must_use_ int browse_refresh(struct browse *b);
/* Everything was reset: what was opened begins anew. */
_must_use_ int browse_reset(struct browse *b);

/*
 * The profile is made small (profile/condense.h), live_condensed() and browse_reset() follow: what is chosen and
 * opened is so afterwards; of modules and labels, whose names go, not.
 */
void browse_condense(struct browse *b, struct condense *c);

/* A key (terminal.h). 0 or -errno + message. */
_must_use_ int browse_key(struct browse *b, int key, enum browse_do *ret);

/* Says something in the last line until the next key. */
void browse_say(struct browse *b, const char *fmt, ...) _printf_(2, 3);

/* Draws everything. 0 or -ENOMEM + message. */
_must_use_ int browse_draw(struct browse *b, struct screen *s);

/* browse_tree.c: opens the chosen row; its lines; a key on the pages tree and flame. */
_must_use_ int tree_open(struct browse *b, enum page page);
void tree_close(struct browse *b);
_must_use_ int tree_refresh(struct browse *b);
_must_use_ int tree_key(struct browse *b, int key);
void tree_draw(struct browse *b, struct screen *s, int top, int bottom);

/* browse_flame.c */
_must_use_ int flame_key(struct browse *b, int key);
_must_use_ int flame_draw(struct browse *b, struct screen *s, int top, int bottom);

/* What the keys are; ends with one without. */
extern const struct browse_help {
	const char *keys, *meaning;
} browse_help[];

/* browse_help.c: lines @top to @bottom - 1 of the screen. */
void help_draw(struct browse *b, struct screen *s, int top, int bottom);

/* browse_draw.c: how a frame of this kind is written. */
enum style draw_style(const struct profile *p, uint32_t location);

#endif
