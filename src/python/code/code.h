/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Python code object as krait keeps it: its name, file and line table, copied from the target
 * when the kernel program first sent the code object. The struct outlives the target's code object
 * and the process.
 */
#ifndef PYTHON_CODE_CODE_H
#define PYTHON_CODE_CODE_H

#include <sys/types.h>

#include "base/util.h"
#include "python/code/linetable.h"
#include "records.h"

struct py_code {
	uint64_t addr; /* address of the code object in the target */
	/* the check (abi/check.h), a 64-bit proof that the process has this code object at .addr */
	uint64_t check;
	/* the most qualified name that is known; UTF-8, one line; NULL: not known (yet) */
	char *name;
	/*
	 * the name of the module of which this code is the top level; NULL: the code isn't a
	 * module's top level, or the module isn't certain
	 */
	char *module;
	/*
	 * if the code has no file (<string>): the file of the module that compiled it from a text;
	 * NULL: the code has a file, or the module isn't certain
	 */
	char *made_in;
	/*
	 * co_filename, or what py_code_find_modules() put in its place; UTF-8, one line; NULL: not
	 * known (yet)
	 */
	char *file;
	uint8_t *linetable;
	uint32_t linetable_bytes;
	int32_t firstlineno;
	int32_t firsttraceable; /* 3.11+: _co_firsttraceable, in code units; 0 in older versions */
	uint16_t version;	/* Python's version: major << 8 | minor */
	/*
	 * bits 1 << enum code_text: texts that are missing, which py_code_fill_from_process() may
	 * still read
	 */
	uint8_t missing;
	bool internal; /* CPython uses the code itself, as a helper, so it isn't shown to users */
	/*
	 * the struct's owner uses this: when the latest record of this code object came, as a
	 * number that codes_next_round() counts up
	 */
	uint32_t round;
	/* the struct's owner uses this: a number that no other code object has, or ever had */
	uint64_t serial;
	/*
	 * the struct's owner uses this: how many bytes of memory it has counted for this code
	 * object
	 */
	size_t counted;
	/*
	 * the code object to which .name, .file and .linetable belong, which is kept as
	 * long as any code object refers to it; NULL: they belong to this code object
	 */
	struct py_code *like;
	/*
	 * 0, unless other code objects may have this code object as their .like. If they may: 1 for
	 * the owner, and 1 for each code object that has it as .like.
	 */
	uint32_t users;
	/*
	 * addresses and lengths of the texts as they were when the kernel program first sent the
	 * code object
	 */
	struct wire_text text[CODE_TEXT_MAX];
};

/*
 * Makes a code object from a record of @n bytes, which may be hostile. @version: Python's version,
 * which belongs to the layout with which the kernel program read the code object (rec->layout). 0:
 * *ret is to be freed; -EINVAL: the record contradicts itself; -ENOMEM. Failures leave a message
 * and don't touch *ret.
 */
_must_use_ int py_code_from_record(const struct rec_code *rec, size_t n, unsigned version,
				   struct py_code **ret);
/* Frees @code, which may be NULL. If @code->users is above 1, only subtracts 1 from it. */
void py_code_free(struct py_code *code);
/* Returns how many bytes of memory @code takes, without those that belong to .like. */
size_t py_code_bytes(const struct py_code *code);

/*
 * Makes a code object from @rec, a record with the same content as that of @like. The new code
 * object shares the texts of @like. Adds one to @like's .users. NULL: out of memory.
 */
struct py_code *py_code_like(struct py_code *like, const struct rec_code *rec);
/*
 * Do the names and lines of @code depend only on its record, and not on the process? They don't if
 * something still has to be read from the process.
 */
bool py_code_is_settled(const struct py_code *code);

static inline void cleanup_py_code(struct py_code **code)
{
	py_code_free(*code);
}

/*
 * Keeps at most @n bytes of the line table. Instructions in the rest of the table have no position
 * any more.
 */
void py_code_cut_lines(struct py_code *code, uint32_t n);

/*
 * Returns the part of .missing that a frame at @lasti needs. The beginning of a line table may be
 * enough for that frame's line.
 */
unsigned py_code_missing(const struct py_code *code, int lasti);

/*
 * Position of the instruction at @lasti (struct wire_frame). A frame that is still being set up
 * (before firsttraceable) has no line in CPython; this function gives it the line of the
 * definition. Line 0: the instruction has no line, or the line table isn't known.
 */
struct py_position py_code_position(const struct py_code *code, int lasti);

/*
 * Finds the class of a method. Up to 3.10 a code object has only its bare name. @self_obj
 * (rec_code.self_obj) is the first local variable of a frame that ran the code; 0: there is none.
 * If @self_obj is an instance or a class, and a class in its MRO has a function with exactly this
 * code object, the name becomes "Class.name"; in 2.7 only with the last part of the class's name.
 * The function may be wrapped by staticmethod, classmethod or property, or have a __wrapped__.
 * @self_type is the type of @self_obj; the type still shows the class when the object is gone.
 * Reads the live process @pid. Returns 1 if the name was changed; 0 if the class isn't certain;
 * -ESTALE, -ESRCH, ...
 */
_must_use_ int py_code_qualify(struct py_code *code, pid_t pid, const struct py_layout *layout,
			       uint64_t self_obj, uint64_t self_type);

/*
 * A code object that is a module's body (its top-level code). .globals is the address of the
 * module's dict, from rec_code.globals.
 */
struct py_body {
	struct py_code *code;
	uint64_t globals;
};

/* the most code objects in one request to the child process that reads memory */
#define PY_BODIES 16

/*
 * Can py_code_find_modules() find the module of @code? It can for a module's body, code without a
 * file, and a notebook's cell, if krait can read the dicts of this Python version.
 */
bool py_code_has_module(const struct py_code *code, const struct py_layout *layout);

/*
 * Sets .module of a module's body, or .made_in of code without a file, if the record has the
 * module's name and file. True: the process needn't be asked any more.
 */
_must_use_ bool py_code_take_module(struct py_code *code, const struct rec_code *rec, size_t n);

/*
 * Finds the modules of up to PY_BODIES code objects. For a module's body it sets .module, if the
 * module's dict has a name and the same file as the code object. For code without a file it sets
 * .made_in, if the dict has a file, and a name that fits that file. For a notebook's cell it sets
 * .file to a name such as "/tmp/ipykernel_7/In [3]" (cell 3). Reads the live process @pid. 0, also
 * where nothing is certain; -ENOMEM, -ESRCH, ...
 */
_must_use_ int py_code_find_modules(const struct py_body *bodies, size_t n, pid_t pid,
				    const struct py_layout *layout);

/*
 * Sets the field for text @which from @raw, the text's @bytes bytes as the target has them. Callers
 * use this function if they read a text after the record came. 0, -EINVAL, -ENOMEM.
 */
_must_use_ int py_code_set_text(struct py_code *code, enum code_text which, const uint8_t *raw,
				size_t bytes);

/*
 * Reads the missing texts from the live process @pid (krait's PID namespace). Computes the check
 * (abi/check.h) of the object at code->addr before and after, and compares it with code->check. 0:
 * nothing is missing any more; -ESTALE: there is another object; -EFAULT: memory can't be read now;
 * -ESRCH, -EPERM. On failure the known texts stay as they are.
 */
_must_use_ int py_code_fill_from_process(struct py_code *code, pid_t pid,
					 const struct py_layout *layout);

/*
 * Reads a whole code object from the live process, if no record of it came. @check: the check
 * (abi/check.h) of the code object in the frame that ran it, or 0 to take the object that is at
 * @addr now (krait computes its check). 0: *ret is to be freed; -ESTALE, -EFAULT, -ESRCH, -EPERM,
 * -ENOMEM.
 */
_must_use_ int py_code_from_process(pid_t pid, const struct py_layout *layout, uint64_t addr,
				    uint64_t check, struct py_code **ret);

/*
 * Tells whether @code is one of CPython's own helpers, but doesn't set .internal. The answer may
 * differ after a text has changed.
 */
bool py_code_is_internal(const struct py_code *code);

/*
 * Does the object at code->addr still have the check (abi/check.h) code->check, and isn't it freed?
 * 0, -ESTALE, -errno.
 */
struct heap;
_must_use_ int py_code_check_same(const struct py_code *code, struct heap *h);

#endif
