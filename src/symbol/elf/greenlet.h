/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of greenlet that make a C stack another's, by the names of its symbols (0.4 to 3.5: C functions,
 * from 2.0 on methods, mangled or not). All take the path of the file as well, and name may be NULL: a file without symbols.
 */
#ifndef SYMBOL_GREENLET_H
#define SYMBOL_GREENLET_H

#include "base/util.h"

/*
 * The outermost function of a greenlet's C stack, g_initialstub(): what is further out is memory that others
 * use, which isn't brought back when the greenlet runs again (TGreenlet.cpp, StackState: stack_stop is a local
 * variable of its caller). The one who makes a greenlet runs it as well, until it has switched.
 */
bool greenlet_is_start(const char *path, const char *name);

/* Runs while the C stack and the thread state's frames may be two greenlets': slp_switch() and what calls it. */
bool greenlet_is_switch(const char *path, const char *name);

/*
 * From 3.12 expose_frames() takes the entry frames out of the chain before a switch, from the innermost on,
 * and unexpose_frames() puts them back after it (greenlet 3.5.6, TGreenlet.cpp): in between a loop's Python
 * frames seem to be the next one's. True of every function without a name.
 */
bool greenlet_is_exposing(const char *path, const char *name);

#endif
