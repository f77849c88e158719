/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interactive view of `krait top`: which page is shown, which line is chosen, what a key does.
 * It draws itself on a struct screen, and knows neither terminals nor where samples come from.
 */
#ifndef LIVE_BROWSE_BROWSE_H
#define LIVE_BROWSE_BROWSE_H

#include "live/calltree.h"
#include "live/screen.h"
#include "live/table.h"

enum page { PAGE_TABLE, PAGE_TREE, PAGE_FLAME, PAGE_HELP };
enum prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_SCREEN, PROMPT_PROFILE };

/* What the owner of the session is to do after a key. */
enum browse_do {
	DO_NOTHING,
	DO_QUIT,
	DO_RESET,
	DO_PAUSE, /* .paused has changed */
	DO_FASTER,
	DO_SLOWER,
	DO_WRITE_SCREEN, /* write the screen to the file named in browse.input */
	DO_WRITE_PROFILE,
};

/* What the head of the screen shows. The owner of the session fills this in before drawing. */
struct browse_facts {
	const char *target; /* words for what is recorded: "pid 123", "every Python process" */
	/*
	 * .hz: sampling rate; .interval: length of an interval in seconds; .recent: over how many
	 * seconds shares are computed (0: over the last interval)
	 */
	double hz, interval, recent;
	uint64_t interval_samples;
	uint64_t samples, lost, incomplete, unknown, unsupported;
	/* how many processes and threads were sampled since the start */
	unsigned processes, threads;
	/* how many of .processes and .threads were alive at the end of the last interval */
	unsigned processes_alive, threads_alive;
	unsigned condensed; /* how often rare code was condensed */
	double cpu, gil; /* .cpu and .gil: percent of one CPU in the last interval; -1: not known */
	/* percent of all samples of the last interval that are in the garbage collector */
	double gc;
};

/* A line of the tree page. */
struct tree_line {
	uint32_t node;
	uint16_t indent;
	bool has_children, open;
	/* the node is the only child of the node in the line above, so it isn't indented further */
	bool only;
};

/* A box of the flame view, at the place where it was drawn last. */
struct flame_box {
	uint32_t node;
	int y, from, to; /* the line of the screen that the box is in, and its columns [from, to) */
};

struct browse {
	struct table *shown;
	struct browse_facts facts;
	enum page page, before_help;
	bool paused, ended;
	/* trees begin with the innermost functions, not the outermost; a key changes this */
	bool invert;

	/*
	 * The table page. If .held is set, a row was chosen with a key, and the chosen line follows
	 * the row with .key.
	 */
	size_t at, from; /* index of the chosen line, and of the first line on the screen */
	uint64_t key;
	bool held;

	/* The tree of the row that the tree page and the flame page show. */
	struct calltree tree;
	char *opened; /* name of the row whose tree is shown */
	VEC(struct tree_line) lines;
	struct map toggled; /* node -> 1: opened by hand, 2: closed by hand */
	size_t tree_at, tree_from;
	/*
	 * two nodes of .tree, for the flame page: the one that is as wide as the screen, and the
	 * chosen one
	 */
	uint32_t zoom, chosen;
	VEC(struct flame_box) boxes;

	enum prompt prompt;
	struct str input;
	char message[256]; /* message that the screen's last line shows until the next key */
	/* tells the user how to record several events, such as an option; NULL: nothing is told */
	const char *several_by;
	/* how many lines of the list fitted on the screen when it was last drawn */
	int page_rows;
};

void browse_init(struct browse *b, struct table *v);
void browse_fini(struct browse *b);

/*
 * Brings what is shown up to date after a tick, a reset or a change of the table. 0 or -ENOMEM +
 * message.
 */
_must_use_ int browse_refresh(struct browse *b);
/*
 * Like browse_refresh(), but after a reset: also builds the tree of the opened row again. 0 or
 * -ENOMEM + message.
 */
_must_use_ int browse_reset(struct browse *b);

/*
 * Replaces ids by their new ones while the profile is condensed (profile/remake/condense.h). The
 * caller then calls live_condensed() and browse_reset(). The chosen and the opened row stay chosen
 * and opened, except rows of modules and label values, whose names are dropped.
 */
void browse_condense(struct browse *b, struct condense *c);

/* Handles a key (terminal.h). 0 or -errno + message. */
_must_use_ int browse_key(struct browse *b, int key, enum browse_do *ret);

/* Shows a message in the last line until the next key. */
void browse_say(struct browse *b, const char *fmt, ...) _printf_(2, 3);

/* Draws the whole screen. 0 or -ENOMEM + message. */
_must_use_ int browse_draw(struct browse *b, struct screen *s);

/*
 * The pages tree and flame. tree_open() opens the chosen row, tree_refresh() lists the lines of its
 * tree, tree_key() handles a key. (In browse_tree.c.)
 */
_must_use_ int tree_open(struct browse *b, enum page page);
void tree_close(struct browse *b);
_must_use_ int tree_refresh(struct browse *b);
_must_use_ int tree_key(struct browse *b, int key);
void tree_draw(struct browse *b, struct screen *s, int top, int bottom);

/* Handles a key of the flame page. (In browse_flame.c.) */
_must_use_ int flame_key(struct browse *b, int key);
_must_use_ int flame_draw(struct browse *b, struct screen *s, int top, int bottom);

/* What the help page says of each key; the last entry has no .keys. */
extern const struct browse_help {
	const char *keys, *meaning;
} browse_help[];

/* Draws the help in lines @top to @bottom - 1 of the screen. (In browse_help.c.) */
void help_draw(struct browse *b, struct screen *s, int top, int bottom);

/* Returns the style in which a frame of this kind is drawn. (In browse_draw.c.) */
enum style draw_style(const struct profile *p, uint32_t location);

#endif
