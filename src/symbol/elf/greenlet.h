/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recognizes the functions of greenlet that exchange the C stack, by their symbols. In greenlet 0.4
 * to 3.5 they are C functions, since 2.0 also methods, with mangled names or not. The functions of
 * this file also need the path of the file that has the symbol. @name may be NULL, for a file
 * without symbols.
 */
#ifndef SYMBOL_ELF_GREENLET_H
#define SYMBOL_ELF_GREENLET_H

#include "base/util.h"

/*
 * Is the function g_initialstub(), the outermost function of a greenlet's C stack? C stack memory
 * further out is used by other greenlets, and isn't restored when the greenlet runs again
 * (TGreenlet.cpp, StackState: stack_stop is the address of a local variable in the caller of
 * g_initialstub()). The greenlet that starts another greenlet also runs g_initialstub(), until it
 * has switched.
 */
bool greenlet_is_start(const char *path, const char *name);

/*
 * Is the function slp_switch(), or does it call slp_switch()? While such a function runs, the C
 * stack may belong to one greenlet, and the frames of the thread state to another greenlet.
 */
bool greenlet_is_switch(const char *path, const char *name);

/*
 * Is the function expose_frames() or unexpose_frames()? Since Python 3.12, entry frames separate
 * the frames of one run of the evaluation loop from the frames of the next run. Before a switch,
 * expose_frames() takes the entry frames out of the chain of frames, the innermost first. After the
 * switch unexpose_frames() puts them back (greenlet 3.5.6, TGreenlet.cpp). In between, the frames
 * of one run look like frames of the next run. The result is also true for every function of
 * greenlet whose name isn't known.
 */
bool greenlet_is_exposing(const char *path, const char *name);

#endif
