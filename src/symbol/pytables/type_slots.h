/* SPDX-License-Identifier: BSD-2-Clause */
/* PyTypeObject: its slots' functions by name. */
#ifndef SYMBOL_TYPE_SLOTS_H
#define SYMBOL_TYPE_SLOTS_H

#include "symbol/pytables/python_data.h"

/* Offsets with objects as they are but in free-threaded builds (there: 16 more). */
enum { TYPE_METHODS = 232, MODULE_NAME = 40, MODULE_SIZE = 56, MODULE_METHODS = 64 };
/* struct PyType_Spec; ids of slots (Include/typeslots.h: 64 since 3.2, 83 the last of 3.14). */
enum { SPEC_SLOTS = 24, SLOT_METHODS = 64, SLOT_MAX = 100 };

struct python_type {
	uint64_t at, head, size; /* head: 16 where objects are longer; size 0: not known */
	char name[80];		 /* tp_name */
};

/* Can a type be at @at? Then its name. */
bool type_check(const struct python_data *d, uint64_t at, uint64_t head, char name[static 80]);

/* A function. 0 goes on, anything else ends it and is returned. */
typedef int type_slot_fn(void *arg, uint64_t start, const char *slot);

/* The functions of a type; @old: as in Python 2. */
int type_slots(const struct python_data *d, const struct python_type *t, bool old, type_slot_fn *fn,
	       void *arg);

/*
 * The functions that both the exported @symbol and the one at @start call, directly. (x86-64.)
 * PyGC_Collect and gc.collect have nothing else in common than the collector.
 */
int common_callees(const struct python_data *d, const char *symbol, uint64_t start,
		   const char *name, type_slot_fn *fn, void *arg);

/* The interpreter's glue that no type has: between slots and methods, and vectorcall's. */
int type_glue(const struct python_data *d, type_slot_fn *fn, void *arg);

#endif
