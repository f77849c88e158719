/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out whether a thread waits because it has nothing to do. Such threads are workers of a pool
 * without work, servers that wait for a client, event loops in their selector. The innermost
 * function doesn't show whether a thread has work: an idle worker and a consumer of data both wait
 * in queue.get(). So the rules have to know the worker's own function, and all Python functions
 * that it calls in order to wait.
 */
#ifndef COLLECT_THREAD_PLACES_H
#define COLLECT_THREAD_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/thread/wait_state.h"
#include "profile/profile.h"

enum place {
	PLACE_OTHER, /* the thread waits for something else, or its stack doesn't show for what */
	PLACE_IDLE,  /* the thread has nothing to do until it is given work */
	PLACE_LOOP,  /* an event loop has nothing to run */
};

/* A place at which threads wait. Names of functions are MODULE.FUNCTION. */
struct place_rule {
	enum place place;
	/*
	 * name of the worker's own function: the innermost Python function that isn't in place_ways
	 * (functions that are called in order to wait)
	 */
	const char *at;
	/*
	 * the function of place_ways that .at calls directly; "": .at must call C code; NULL: .at
	 * may call either
	 */
	const char *through;
	/*
	 * the wait must be at the line that is this many lines below the first line of .at; 0: at
	 * any line
	 */
	int line;
	bool after_caller; /* .at must be defined further down in its file than its caller */
	bool in_thread;	   /* the outermost Python function must be that of a threading.Thread */
	uint32_t states;   /* the kinds of waits that fit, as WAIT_KIND_BIT()s */
};

/*
 * The list of rules; .at of the last rule is NULL. If several rules fit, the first of them counts.
 */
extern const struct place_rule place_rules[];
#define PLACE_MAX_RULES 250

/*
 * Functions that other functions call in order to wait. They don't show what is waited for, so they
 * are skipped on the way from the innermost function outwards. PACKAGE.* stands for all functions
 * of a package in site-packages or dist-packages. The last entry is NULL.
 */
extern const char *const place_ways[];

/*
 * Functions that the user named, in the form that place_names_function() takes. Waits in these
 * functions, and in what they call, are PLACE_IDLE.
 */
struct place_names {
	const char *const *v;
	size_t n;
};

/*
 * Is function @name of source file @file the function that @text names, as MODULE.FUNCTION or
 * MODULE.CLASS.FUNCTION? A module fits by the end of the file's path: a.b fits every file a/b.py.
 */
bool place_names_function(const char *text, const char *file, const char *name);

/*
 * places_find(): returns a number for the place at which a thread with stack @stack of @p waits:
 * the number of the rule that fits, or PLACE_NO_RULE. places_kind(): returns what the rule with
 * that number says of a wait with @state (wait_state.h).
 */
#define PLACE_NO_RULE 0
uint8_t places_find(const struct profile *p, uint32_t stack, const struct place_names *more);
enum place places_kind(uint8_t rule, uint32_t state);

/* The answers of places_find(), by stack id. */
struct places {
	uint8_t *rules; /* number of the rule + 1; 0: not known yet */
	size_t n;
};
enum place places_look(struct places *s, const struct profile *p, uint32_t stack, uint32_t state,
		       const struct place_names *more);
/* Forgets all stacks. Has to be called when stack ids change, and when the recording ends. */
void places_forget(struct places *s);

#endif
