/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the functions in the slots of a PyTypeObject, with the names of the slots. */
#ifndef SYMBOL_PYTABLES_TYPE_SLOTS_H
#define SYMBOL_PYTABLES_TYPE_SLOTS_H

#include "symbol/pytables/python_data.h"

/*
 * Offsets in objects with the usual header. In a free-threaded build the header is 16 bytes longer.
 */
enum { TYPE_METHODS = 232, MODULE_NAME = 40, MODULE_SIZE = 56, MODULE_METHODS = 64 };
/*
 * The offset of .slots in struct PyType_Spec, and ids of slots. In Include/typeslots.h,
 * Py_tp_methods is 64 since 3.2, and the last slot of 3.14 is 83.
 */
enum { SPEC_SLOTS = 24, SLOT_METHODS = 64, SLOT_MAX = 100 };

struct python_type {
	/*
	 * address of the type; by how many bytes its header is longer than usual (16 in a
	 * free-threaded build, else 0); size of the type object (0: not known)
	 */
	uint64_t at, head, size;
	char name[80]; /* the type's name, tp_name */
};

/* Tells whether a type object can be at @at. If so, sets @name to the type's name. */
bool type_check(const struct python_data *d, uint64_t at, uint64_t head, char name[static 80]);

/* Called for each function that is found. A result other than 0 ends the search and is returned. */
typedef int type_slot_fn(void *arg, uint64_t start, const char *slot);

/* Calls @fn for each function in the slots of a type. @old: the interpreter is Python 2. */
int type_slots(const struct python_data *d, const struct python_type *t, bool old, type_slot_fn *fn,
	       void *arg);

/*
 * Calls @fn for each function that is called directly both by the exported @symbol and by the
 * function at @start (x86-64 only). In this way the collector is found, as the only function that
 * PyGC_Collect and gc.collect both call.
 */
int common_callees(const struct python_data *d, const char *symbol, uint64_t start,
		   const char *name, type_slot_fn *fn, void *arg);

/*
 * Calls @fn for functions of the interpreter that belong to no type: those that lead from slots to
 * methods and back, and those of vectorcall.
 */
int type_glue(const struct python_data *d, type_slot_fn *fn, void *arg);

#endif
