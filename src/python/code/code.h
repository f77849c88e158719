/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Python code object as krait knows it: its name, file and line table, copied from the target
 * when the kernel program first met it. It outlives the code object and the process.
 */
#ifndef PYTHON_CODE_H
#define PYTHON_CODE_H

#include <sys/types.h>

#include "base/util.h"
#include "python/code/linetable.h"
#include "records.h"

struct py_code {
	uint64_t addr;	/* in the target */
	uint64_t check; /* abi/check.h; with addr and process it is the object's identity */
	char *name;	/* qualified as far as known, UTF-8, one line; NULL: not known (yet) */
	char *module; /* its name, if this is the body of an imported one and it was proved; or NULL */
	char *made_in; /* its file, if this one has none (<string>) and it was proved; or NULL */
	char *file; /* co_filename as it is (but for py_code_find_modules()), UTF-8, one line; NULL: not known (yet) */
	uint8_t *linetable;
	uint32_t linetable_bytes;
	int32_t firstlineno;
	int32_t firsttraceable; /* 3.11+, code units; 0 before */
	uint16_t version;	/* major << 8 | minor */
	uint8_t missing; /* 1 << enum code_text: texts that py_code_fill_from_process() can bring */
	bool internal;	 /* CPython's own helper code: not for users' eyes */
	uint32_t round;	 /* whoever keeps it: when it came last, */
	uint64_t serial; /* and its number, which no other one ever had */
	struct wire_text text[CODE_TEXT_MAX]; /* where and how long the texts were at first sight */
};

/*
 * Makes a code object from the @n bytes of a record; they may be hostile. @version is that of the
 * layout it was read with (rec->layout). 0 and *ret to be freed; -EINVAL if the record contradicts
 * itself; -ENOMEM. In both cases with a message, *ret untouched.
 */
_must_use_ int py_code_from_record(const struct rec_code *rec, size_t n, unsigned version,
				   struct py_code **ret);
void py_code_free(struct py_code *code);	  /* NULL is allowed */
size_t py_code_bytes(const struct py_code *code); /* memory it takes */

static inline void cleanup_py_code(struct py_code **code)
{
	py_code_free(*code);
}

/* Of the line table no more than @n bytes are kept: what it says of what is beyond is missing. */
void py_code_cut_lines(struct py_code *code, uint32_t n);

/* What of .missing a frame at @lasti lacks: the beginning of a long line table may say its line. */
unsigned py_code_missing(const struct py_code *code, int lasti);

/*
 * Position of the instruction at @lasti (struct wire_frame). A frame that is still being built
 * (before firsttraceable) has no line in CPython; it gets the definition's. Line 0: none, or the
 * line table isn't known.
 */
struct py_position py_code_position(const struct py_code *code, int lasti);

/*
 * Up to 3.10 a code object knows only its bare name. If @self_obj (rec_code.self_obj: the first
 * local variable of a frame that ran it, 0 = none) is an instance or a class, and a class in its
 * MRO holds a function with exactly this code object (also behind staticmethod, classmethod,
 * property, or __wrapped__), the name becomes "Class.name"; in 2.7 with the class' bare name.
 * @self_type: its type, by which also an object that is gone says its class. Reads the live process
 * @pid. 1: done; 0: not certain, name unchanged; -ESTALE, -ESRCH, ...: name unchanged.
 */
_must_use_ int py_code_qualify(struct py_code *code, pid_t pid, const struct py_layout *layout,
			       uint64_t self_obj, uint64_t self_type);

/* A module's body: rec_code.globals is the module's dict. */
struct py_body {
	struct py_code *code;
	uint64_t globals;
};

#define PY_BODIES 16 /* whose modules are found at once */

/* Is it one, or code without a file, or a notebook cell's, of a version whose dicts can be read? */
bool py_code_has_module(const struct py_code *code, const struct py_layout *layout);

/*
 * Sets .module of up to PY_BODIES bodies if the dict has a name, and the file that the code object has; of code without a
 * file .made_in, if the dict has one that its name belongs to; of a notebook cell's .file, "/tmp/ipykernel_7/In [3]". Reads the live process @pid. 0, also of what isn't certain; -ENOMEM, -ESRCH, ...
 */
_must_use_ int py_code_find_modules(const struct py_body *bodies, size_t n, pid_t pid,
				    const struct py_layout *layout);

/*
 * Sets what a text from the target stands for; for whoever reads a text later than the record.
 * @raw has @bytes bytes. 0, -EINVAL, -ENOMEM.
 */
_must_use_ int py_code_set_text(struct py_code *code, enum code_text which, const uint8_t *raw,
				size_t bytes);

/*
 * Reads what is missing from the live process @pid (krait's PID namespace), if the object at
 * code->addr is still the one whose check was taken, before and after. 0: nothing is missing any
 * more; -ESTALE: another object is there; -EFAULT: not readable now; -ESRCH, -EPERM. In all these
 * cases what was known stays.
 */
_must_use_ int py_code_fill_from_process(struct py_code *code, pid_t pid,
					 const struct py_layout *layout);

/*
 * Reads a whole code object from the live process, for what never came as a record. @check: that of
 * the frame that ran it, or 0 to take what is there now (its check is computed). 0 and *ret to be
 * freed; -ESTALE, -EFAULT, -ESRCH, -EPERM, -ENOMEM.
 */
_must_use_ int py_code_from_process(pid_t pid, const struct py_layout *layout, uint64_t addr,
				    uint64_t check, struct py_code **ret);

/* Is it CPython's own helper code? For whoever changes texts; sets nothing. */
bool py_code_is_internal(const struct py_code *code);

/* Is the object at code->addr still the one whose check was taken, and not freed? 0, -ESTALE, -errno. */
struct heap;
_must_use_ int py_code_check_same(const struct py_code *code, struct heap *h);

#endif
