/* SPDX-License-Identifier: BSD-2-Clause */
/* A stack while merge.c merges its parts, and the facts about its frames that merging needs. */
#ifndef COLLECT_STACK_MERGE_H
#define COLLECT_STACK_MERGE_H

#include "collect/stack/stack.h"

struct native_frame {
	struct native_file *file;
	uint64_t pc, vaddr;
	/*
	 * what is known of the frame's function, as bits of enum native_is; 0: the frame lies in no
	 * file
	 */
	uint8_t is;
	struct made_name made; /* name of the frame if it lies in no file */
};

struct merge {
	struct collect *c;
	const struct raw_stack *raw;
	const struct raw_native *native;
	VEC(struct native_frame) frames; /* the frames of .native, each with its name */
	merge_python_fn *python;
	void *arg;
	struct merged *out;
	uint16_t version; /* the Python version of the stack's Python frames */
	size_t next;	  /* index of the Python frame that is to be merged next */
	/*
	 * config.leaf is set, and the stack has native frames further out than config.leaf shows;
	 * of those frames only the garbage collector's are shown
	 */
	bool leaf;
};

/* Is the frame an evaluation loop of the Python version that the stack has? */
static inline bool is_eval(const struct merge *m, const struct native_frame *f)
{
	return f->is & (m->version >> 8 == 2 ? IS_EVAL_2 : IS_EVAL_3);
}

/*
 * Returns the index after the Python frames that evaluation loop @i runs; 0: native frame @i runs
 * none.
 */
static inline size_t owned_until(const struct merge *m, size_t i)
{
	size_t k = m->next;

	while (k < m->raw->n && !(m->raw->frames[k].flags & FRAME_ENTRY))
		k++;
	if (k == m->raw->n || m->raw->frames[k].flags >> FRAME_OWNER_SHIFT != i + 1)
		return 0;
	return k + 1;
}

/*
 * greenlet.c: greenlet runs several stacks of Python frames on one thread. merge_is_owned(): are
 * the evaluation loops of all Python frames among the native frames? If not, greenlet may be
 * switching, and the Python frames and native frames belong to different greenlets.
 * merge_is_rewritten(): is greenlet rewriting the chain of Python frames just now? If so, the
 * frames that the innermost loop runs aren't in the chain. merge_is_switching(): is greenlet
 * switching just now? If so, counting may take another greenlet's loops for this greenlet's, if
 * both greenlets have equally many.
 */
bool merge_is_owned(const struct merge *m);
bool merge_is_rewritten(const struct merge *m);
bool merge_is_switching(const struct merge *m);
/*
 * Only greenlet itself calls its function slp_switch(). If the caller seems to be in another file,
 * greenlet is just restoring a stack, and the frames further out belong to neither of the two
 * greenlets between which it switches. Removes these frames. Returns whether there were any.
 */
bool merge_cut_at_switch(struct merge *m);
/*
 * Removes the native frames further out than the start of the greenlet to which the Python frames
 * belong. False: there is no such start. A greenlet that begins, ends, or runs only C functions has
 * no Python frames; for it the innermost start counts. @counted: evaluation loops are matched with
 * Python frames by counting (before 3.11).
 */
bool merge_cut_at_greenlet(struct merge *m, bool counted);

/*
 * nameless.c: finds machinery (functions of the interpreter that are hidden) in an interpreter
 * without symbols, as some distributions ship it. A function without a name that enters an
 * evaluation loop is machinery. So is each function without a name that lies between the outermost
 * loop and the C library's function that started the program or the thread. Other functions have
 * names, because each is a method, an operation of a type (a slot), or exported.
 */
void merge_find_nameless(struct merge *m, bool counted);

#endif
