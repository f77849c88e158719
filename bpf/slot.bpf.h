/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Each walk of a stack takes a state for itself at its beginning and gives the state back at its
 * end, so that two walks on one CPU never use the same state.
 */
#ifndef BPF_SLOT_H
#define BPF_SLOT_H

#include "state.bpf.h"

/*
 * The slots of walk state. Programs that can interrupt or preempt each other on one CPU need a slot
 * each, or samples are lost.
 *
 * SLOT_PERF: perf events. The kernel runs one perf program at a time on a CPU, in whatever context
 * (bpf_prog_active), so all events share this slot. SLOT_SWITCH: the programs that run at each task
 * switch and at each wake-up. Interrupts are off while they run, and neither of the two programs
 * can start the other. But an NMI may run a perf program meanwhile (capture() then takes no
 * sample), and the thread that leaves the CPU may be in the middle of a fexit program. SLOT_TASK:
 * fexit programs, which run in the context of a thread. They can't migrate meanwhile, but where the
 * kernel is preemptible, another thread can run in the middle of a walk. If that thread comes to
 * the same program, the kernel itself skips the program (recursion_misses).
 *
 * User space makes only as many slots, from the first on, as the loaded programs need. So slots
 * that are always needed come first.
 */
enum walk_slot { SLOT_PERF, SLOT_SWITCH, SLOT_TASK, WALK_SLOTS };

/*
 * Adds 1 to counter @counter. Each program with the walkers defines this function for itself; see
 * "The seam" in state.bpf.h.
 */
walk_inline void count(__u32 counter);

/*
 * Adds @n to the number of users of @slot. Where interrupts are off, only an NMI can interrupt this
 * function, and an NMI leaves the count as it was.
 */
walk_inline void add_users(struct walk *w, __u32 slot, __s32 n)
{
	if (slot == SLOT_TASK)
		__sync_fetch_and_add(&w->users, n);
	else
		*(volatile __u32 *)&w->users += (__u32)n;
}

/*
 * Takes @slot for one walk. If the slot is in use, counts that and returns NULL, so that a program
 * that interrupts or preempts a walk never uses the same state. (5.10 has no atomic operation that
 * returns a value. If two programs preempt each other between these lines, both may be refused, but
 * never are both let in.)
 */
walk_inline struct walk *walk_take(__u32 slot)
{
	struct walk *w = walk_state(slot);

	if (!w)
		return 0;
	add_users(w, slot, 1);
	if (*(volatile __u32 *)&w->users != 1) {
		add_users(w, slot, -1);
		count(COUNT_BUSY);
		return 0;
	}
	w->slot = (__u8)slot;
	return w;
}

walk_inline void walk_give_back(struct walk *w)
{
	add_users(w, w->slot, -1);
}

#endif
