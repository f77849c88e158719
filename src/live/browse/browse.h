/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interactive view of `krait top`: which page is shown, which line is chosen, what a key does.
 * It draws on a struct screen, and knows neither terminals nor where samples come from.
 */
#ifndef LIVE_BROWSE_BROWSE_H
#define LIVE_BROWSE_BROWSE_H

#include "live/calltree.h"
#include "live/screen.h"
#include "live/table.h"

enum page { PAGE_TABLE, PAGE_TREE, PAGE_FLAME, PAGE_HELP };
enum prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_SCREEN, PROMPT_PROFILE };

/* What the caller of browse_key() has to do after a key. */
enum browse_do {
	DO_NOTHING,
	DO_QUIT,
	DO_RESET,
	DO_PAUSE, /* .paused has changed */
	DO_FASTER,
	DO_SLOWER,
	DO_WRITE_SCREEN, /* write the screen to the file whose name is in browse.input */
	DO_WRITE_PROFILE,
};

/* What the head of the screen shows. The caller sets these members before drawing. */
struct browse_facts {
	const char *target; /* words for what is recorded: "pid 123", "every Python process" */
	/*
	 * .hz: sampling rate; .interval: length of an interval in seconds; .recent: shares are
	 * computed over this many seconds (0: over the last interval)
	 */
	double hz, interval, recent;
	uint64_t interval_samples;
	uint64_t samples, lost, incomplete, unknown, unsupported;
	/* how many processes and threads were sampled since krait top began */
	unsigned processes, threads;
	/* how many of .processes and .threads were still alive at the end of the last interval */
	unsigned processes_alive, threads_alive;
	/* how many times the profile was condensed: rarely run code was summed up to save memory */
	unsigned condensed;
	double cpu, gil; /* .cpu and .gil: percent of one CPU in the last interval; -1: not known */
	/* percentage of the last interval's samples that are in the garbage collector */
	double gc;
};

/* A line of the tree page. */
struct tree_line {
	uint32_t node;
	uint16_t indent;
	bool has_children, open;
	/*
	 * the node is the only child of the node in the line above, so it isn't indented further
	 * than that node
	 */
	bool only;
};

/* A box of the flame page, at the place where it was last drawn. */
struct flame_box {
	uint32_t node;
	int y, from, to; /* .y: the box's line of the screen; .from, .to: its columns [from, to) */
};

struct browse {
	struct table *shown;
	struct browse_facts facts;
	enum page page, before_help;
	bool paused, ended;
	/*
	 * true: trees begin with the innermost functions; false: with the outermost; a key changes
	 * this
	 */
	bool invert;

	/*
	 * The table page. If .held is set, the user chose a row with a key, and the chosen line
	 * follows the row whose key is .key.
	 */
	/* .at: index of the chosen line; .from: index of the first line on the screen */
	size_t at, from;
	uint64_t key;
	bool held;

	/*
	 * The tree that the tree page and the flame page show: the callers or callees of one row.
	 */
	struct calltree tree;
	char *opened; /* name of the row whose tree is shown */
	VEC(struct tree_line) lines;
	struct map toggled; /* node -> 1: the user opened it; 2: the user closed it */
	size_t tree_at, tree_from;
	/*
	 * two nodes of .tree, for the flame page. .zoom: the node that is drawn as wide as the
	 * screen; .chosen: the chosen node
	 */
	uint32_t zoom, chosen;
	VEC(struct flame_box) boxes;

	enum prompt prompt;
	struct str input;
	char message[256]; /* message in the screen's last line, until the next key */
	/*
	 * tells the user how several events can be recorded, for example by an option; NULL:
	 * nothing is told
	 */
	const char *several_by;
	/* how many lines of the list fitted on the screen at the last drawing */
	int page_rows;
};

void browse_init(struct browse *b, struct table *v);
void browse_fini(struct browse *b);

/*
 * Brings the rows and the tree up to date. Call it after the end of an interval (a tick), after a
 * reset, and after a change of the table. 0 or -ENOMEM + message.
 */
_must_use_ int browse_refresh(struct browse *b);
/*
 * Call it after a reset: it builds the tree of the opened row again, and then does what
 * browse_refresh() does. 0 or -ENOMEM + message.
 */
_must_use_ int browse_reset(struct browse *b);

/*
 * Replaces old ids by new ids while the profile is made smaller (profile/remake/condense.h). After
 * that, the caller calls live_condensed() and browse_reset(). The chosen and the opened row stay
 * chosen and opened, except rows of modules and label values, whose names are dropped.
 */
void browse_condense(struct browse *b, struct condense *c);

/* Handles a key (terminal.h). 0 or -errno + message. */
_must_use_ int browse_key(struct browse *b, int key, enum browse_do *ret);

/* Shows a message in the screen's last line until a key is pressed. */
void browse_say(struct browse *b, const char *fmt, ...) _printf_(2, 3);

/* Draws the whole screen. 0 or -ENOMEM + message. */
_must_use_ int browse_draw(struct browse *b, struct screen *s);

/*
 * browse_tree.c: the tree page and the flame page. tree_open() opens the chosen row, tree_refresh()
 * lists the lines of its tree, tree_key() handles a key.
 */
_must_use_ int tree_open(struct browse *b, enum page page);
void tree_close(struct browse *b);
_must_use_ int tree_refresh(struct browse *b);
_must_use_ int tree_key(struct browse *b, int key);
void tree_draw(struct browse *b, struct screen *s, int top, int bottom);

/* browse_flame.c: flame_key() handles a key of the flame page, flame_draw() draws the page. */
_must_use_ int flame_key(struct browse *b, int key);
_must_use_ int flame_draw(struct browse *b, struct screen *s, int top, int bottom);

/* What the help page says about each key. The last entry has no .keys. */
extern const struct browse_help {
	const char *keys, *meaning;
} browse_help[];

/* browse_help.c: draws the help in lines @top to @bottom - 1 of the screen. */
void help_draw(struct browse *b, struct screen *s, int top, int bottom);

/* browse_draw.c: returns the style in which a frame is drawn, according to its kind. */
enum style draw_style(const struct profile *p, uint32_t location);

#endif
