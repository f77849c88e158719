/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recognizes the functions of greenlet that exchange the C stack, by their symbols (0.4 to 3.5: C
 * functions; methods since 2.0, mangled or not). All functions here take the path of the file with
 * the symbol too. @name may be NULL, for a file without symbols.
 */
#ifndef SYMBOL_ELF_GREENLET_H
#define SYMBOL_ELF_GREENLET_H

#include "base/util.h"

/*
 * Is the function g_initialstub(), the outermost function of a greenlet's C stack? Memory further
 * out is used by other greenlets, and isn't restored when the greenlet runs again (TGreenlet.cpp,
 * StackState: stack_stop is a local variable of its caller). The greenlet that starts another one
 * runs this function too, until it has switched.
 */
bool greenlet_is_start(const char *path, const char *name);

/*
 * Is the function slp_switch() or one that calls slp_switch()? While these run, the C stack may
 * belong to one greenlet and the thread state's frames to another.
 */
bool greenlet_is_switch(const char *path, const char *name);

/*
 * Is the function expose_frames() or unexpose_frames()? Since Python 3.12, entry frames separate
 * the frames of one run of the evaluation loop from those of the next. Before a switch,
 * expose_frames() takes the entry frames out of the chain of frames, the innermost first. After the
 * switch unexpose_frames() puts them back (greenlet 3.5.6, TGreenlet.cpp). In between, the frames
 * of one run look like those of the next. Also true for every function of greenlet's that has no
 * name.
 */
bool greenlet_is_exposing(const char *path, const char *name);

#endif
