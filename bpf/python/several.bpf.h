/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which interpreter does the sampled thread run, in a process with several (a program that loads
 * two libpythons)? A thread runs two interpreters at once if a function of one interpreter calls
 * the other. Then the answer is the interpreter whose GIL the thread holds. If it holds no GIL, the
 * answer is the interpreter that is later in the list: it was loaded later, so the earlier
 * interpreter called it. If the interpreters' lists of threads are long, looking at all
 * interpreters would take too long, so some are left out.
 */
#ifndef BPF_PYTHON_SEVERAL_H
#define BPF_PYTHON_SEVERAL_H

#include "python/thread.bpf.h"

/*
 * Returns the interpreters of process @tgid. Each program with the walkers defines this function
 * for itself; see "The seam" in state.bpf.h. NULL: process @tgid has a single interpreter.
 */
walk_inline const struct proc_several *walk_several(__u32 tgid);

/*
 * when a sample has taken this long, no more interpreters are looked at; the best interpreter so
 * far is taken
 */
#define CHOOSE_NS 150000

/* Returns enum runs: whether the thread runs in interpreter w->where. */
walk_global int runs_here(__u32 slot)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);

	return l ? runs_python(w, l) : RUNS_NOT;
}

/*
 * Sets w->where to the interpreter that the thread runs; if the thread runs no interpreter, to the
 * process's first interpreter.
 */
walk_global int choose_interpreter(__u32 slot, __u32 tgid)
{
	const struct proc_several *s = walk_several(tgid);
	struct walk *w = walk_state(slot);
	__u32 best = 0;
	int most = -1;

	if (!s || !w)
		return 0;
	for (__u32 i = 0; i < ABI_INTERPRETERS; i++) {
		int runs;

		if (i >= s->n || (i && walk_clock() - w->began_ns > CHOOSE_NS))
			break;
		w->where = s->where[i];
		runs = runs_here(slot);
		if (runs > most || (runs == most && runs >= RUNS_FRAMES)) {
			most = runs;
			best = i;
		}
	}
	w->where = s->where[bounded(best, ABI_INTERPRETERS)];
	return 0;
}

#endif
