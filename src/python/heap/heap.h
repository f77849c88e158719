/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads Python objects out of a live process: strings, integers, dictionaries, attributes. The
 * process runs on while we read: everything may be torn or made up. A budget bounds what one
 * session of reads can cost, whatever the target's structures say.
 */
#ifndef PYTHON_HEAP_H
#define PYTHON_HEAP_H

#include <sys/types.h>

#include "base/str.h"
#include "base/util.h"
#include "base/vec.h"
#include "python/layout/tables.h"
#include "records.h"

/* From the end of PyTypeObject's header: tp_basicsize to tp_mro. */
#define HEAP_TYPE_FIRST 16
#define HEAP_TYPE_BYTES 320

/* Pages of the process that were read last: small objects lie close together. */
#define HEAP_PAGE  4096
#define HEAP_PAGES 64 /* direct mapped */
struct heap_pages {
	uint64_t start[HEAP_PAGES]; /* 0: none */
	uint8_t bytes[HEAP_PAGES][HEAP_PAGE];
};

/* Freed by the caller; NULL: no memory. */
struct heap_pages *heap_pages_new(void);

struct heap {
	pid_t pid;
	const struct py_layout *l;
	struct py_heap_row h;
	bool known; /* this version's dicts, ints and attributes can be read; strings always can */
	uint16_t head;	 /* sizeof(PyObject) */
	uint64_t budget; /* bytes that may still be read; a call costs HEAP_CALL_COST on top */
	struct heap_type {
		uint64_t addr;
		uint8_t bytes[HEAP_TYPE_BYTES];
	} types[8]; /* read last: most objects have one of few types */
	unsigned next_type;
	/*
	 * The caller's, or NULL: each read is one of the process then. For a short session, as what a
	 * page says isn't read again.
	 */
	struct heap_pages *pages;
};

#define HEAP_BUDGET    (64ull << 20)
#define HEAP_CALL_COST 256
#define HEAP_DICT_MAX  65536 /* entries of a dictionary that are read */

/* Can dicts, ints and attributes of CPython @version (major << 8 | minor) be read, and so names of threads and modules? */
bool heap_is_known(unsigned version);

/* @l must outlive @h. */
void heap_init(struct heap *h, pid_t pid, const struct py_layout *l);

/* 0; -errno of peek(); -E2BIG when the budget is spent. No messages. */
_must_use_ int heap_read(struct heap *h, uint64_t addr, void *buf, size_t n);
uint64_t heap_ptr(struct heap *h, uint64_t addr); /* 0 if not readable */

/*
 * Reads @bytes (up to 256) at each of the @n addresses into @buf, one after another, in few system
 * calls. What isn't readable is zero.
 */
void heap_read_many(struct heap *h, const uint64_t *addr, size_t n, size_t bytes, uint8_t *buf);

/*
 * Describes the str object (2.7: byte string) at @addr as in a record and says where its bytes are.
 * @is_bytes: it is a bytes object. *hash: -1 = not cached. 0 or -errno.
 */
_must_use_ int heap_str_head(struct heap *h, uint64_t addr, bool is_bytes, struct wire_text *ret,
			     uint64_t *data, uint64_t *hash);

/* Appends the str object's text to @out as text_to_utf8() does; -EINVAL: not a str. */
_must_use_ int heap_str(struct heap *h, uint64_t addr, struct str *out);
/* The same of its first @most bytes, a multiple of 4. */
_must_use_ int heap_str_begin(struct heap *h, uint64_t addr, size_t most, struct str *out);

/* Value of a non-negative int below 2^64; false if it isn't one. */
bool heap_int(struct heap *h, uint64_t addr, uint64_t *ret);

/* tp_name of type @type: is it @name? */
bool heap_type_is(struct heap *h, uint64_t type, const char *name);

struct heap_item {
	uint64_t key, value; /* objects */
};
typedef VEC(struct heap_item) heap_items;

/* Appends the items of the dict at @dict. 0; -EINVAL: doesn't look like one; -ENOTSUP; -errno. */
_must_use_ int heap_dict(struct heap *h, uint64_t dict, heap_items *ret);

/* The value under the ASCII string @key (up to 64 bytes), 0 if none. */
uint64_t heap_find(struct heap *h, const heap_items *items, const char *key);
uint64_t heap_dict_find(struct heap *h, uint64_t dict, const char *key);

/* Appends the attributes of the instance at @obj (its own dict or inline values). As heap_dict().
 */
_must_use_ int heap_attrs(struct heap *h, uint64_t obj, heap_items *ret);

/* One of them, 0 if none. */
uint64_t heap_attr(struct heap *h, uint64_t obj, const char *name);

/* sys.modules[@module].@name of the interpreter at @interp, 0 if none. */
uint64_t heap_module_find(struct heap *h, uint64_t interp, const char *module, const char *name);

/*
 * Fields of PyTypeObject by their distance from the end of its header, the same in all versions
 * (2.7-3.15).
 */
enum heap_type_field {
	TYPE_BASICSIZE = HEAP_TYPE_FIRST,
	TYPE_FLAGS = 152,
	TYPE_DICT = 248,
	TYPE_DICTOFFSET = 272,
	TYPE_MRO = 328,
};

/* 0 if not readable. */
uint64_t heap_type_field(struct heap *h, uint64_t type, enum heap_type_field field);

#endif
