/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads Python objects of a live process: strings, integers, dictionaries, attributes. The process
 * keeps running while its memory is read, so a value may be half old and half new, or forged. A
 * budget bounds the cost of the reads with one struct heap, whatever the target's structures say.
 */
#ifndef PYTHON_HEAP_HEAP_H
#define PYTHON_HEAP_HEAP_H

#include <sys/types.h>

#include "base/text/str.h"
#include "base/util.h"
#include "base/vec.h"
#include "python/layout/tables.h"
#include "records.h"

/*
 * The part of PyTypeObject that is read, from tp_basicsize to tp_mro: its offset from the end of
 * the object's header, and its size in bytes.
 */
#define HEAP_TYPE_FIRST 16
#define HEAP_TYPE_BYTES 320

/*
 * The pages of the process that were read last. They are kept because small objects lie close
 * together.
 */
#define HEAP_PAGE 4096
/* how many pages are kept; the page at an address can be kept in one entry only (direct mapped) */
#define HEAP_PAGES 64
struct heap_pages {
	uint64_t start[HEAP_PAGES]; /* address of each kept page; 0: this entry is empty */
	uint8_t bytes[HEAP_PAGES][HEAP_PAGE];
};

/* Makes an empty cache, which the caller frees with free(); NULL: out of memory. */
struct heap_pages *heap_pages_new(void);

struct heap {
	pid_t pid;
	const struct py_layout *l;
	struct py_heap_row h;
	/*
	 * krait knows the structures of this Python version's dicts, ints and attributes; strings
	 * can be read in any version
	 */
	bool known;
	uint16_t head; /* sizeof(PyObject) in this Python version */
	/* how many bytes may still be read; each call also takes HEAP_CALL_COST from this number */
	uint64_t budget;
	struct heap_type {
		uint64_t addr;
		uint8_t bytes[HEAP_TYPE_BYTES];
	} types[8]; /* types that were read last, because most objects have one of a few types */
	unsigned next_type;
	/*
	 * The caller's cache of pages; NULL: each read goes to the process. A page in the cache
	 * isn't read again, so a cache is used only for a short time.
	 */
	struct heap_pages *pages;
};

#define HEAP_BUDGET    (64ull << 20)
#define HEAP_CALL_COST 256
#define HEAP_DICT_MAX  65536 /* how many entries of a dictionary are read at most */

/*
 * Can dicts, ints and attributes of CPython @version (major << 8 | minor) be read? The names of
 * threads and modules need these.
 */
bool heap_is_known(unsigned version);

/* Prepares @h for reading process @pid. @l must stay valid as long as @h. */
void heap_init(struct heap *h, pid_t pid, const struct py_layout *l);

/*
 * Reads memory at @addr. 0; -errno of peek(); -E2BIG: the budget is used up. Failures leave no
 * message.
 */
_must_use_ int heap_read(struct heap *h, uint64_t addr, void *buf, size_t n);
/* Returns the pointer at @addr; 0: the memory can't be read. */
uint64_t heap_ptr(struct heap *h, uint64_t addr);

/*
 * Reads @bytes bytes (up to 256) at each of @n addresses, with few system calls, into @buf, one
 * after the other. Pieces that can't be read become zeros.
 */
void heap_read_many(struct heap *h, const uint64_t *addr, size_t n, size_t bytes, uint8_t *buf);

/*
 * Reads the head of the str object (2.7: byte string) at @addr. *ret describes the string as a
 * record of the kernel program does, *data is the address of its bytes, and *hash is its cached
 * hash (-1: none). @is_bytes: the object is a bytes object. 0 or -errno.
 */
_must_use_ int heap_str_head(struct heap *h, uint64_t addr, bool is_bytes, struct wire_text *ret,
			     uint64_t *data, uint64_t *hash);

/*
 * Appends the text of the str object at @addr, converted as text_to_utf8() does; -EINVAL: the
 * object isn't a str.
 */
_must_use_ int heap_str(struct heap *h, uint64_t addr, struct str *out);
/*
 * Appends, as heap_str() does, only the first @most bytes of the string. @most is a multiple of 4.
 */
_must_use_ int heap_str_begin(struct heap *h, uint64_t addr, size_t most, struct str *out);

/* Reads the value of the int at @addr. False: the object isn't an int from 0 to 2^64 - 1. */
bool heap_int(struct heap *h, uint64_t addr, uint64_t *ret);

/* Tells whether @name is the tp_name of the type at @type. */
bool heap_type_is(struct heap *h, uint64_t type, const char *name);

struct heap_item {
	uint64_t key, value; /* addresses of the key object and the value object */
};
typedef VEC(struct heap_item) heap_items;

/*
 * Appends the items of the dict at @dict. 0; -EINVAL: the object doesn't look like a dict;
 * -ENOTSUP: krait doesn't know the dicts of this version; -errno.
 */
_must_use_ int heap_dict(struct heap *h, uint64_t dict, heap_items *ret);

/*
 * Both return the address of the value of @key, an ASCII string of up to 64 bytes; 0: there is no
 * such key.
 */
uint64_t heap_find(struct heap *h, const heap_items *items, const char *key);
uint64_t heap_dict_find(struct heap *h, uint64_t dict, const char *key);

/*
 * Appends the attributes of the instance at @obj, from its own dict or its inline values. Returns
 * what heap_dict() returns.
 */
_must_use_ int heap_attrs(struct heap *h, uint64_t obj, heap_items *ret);

/*
 * Returns the address of the attribute @name of the instance at @obj; 0: it has no such attribute.
 */
uint64_t heap_attr(struct heap *h, uint64_t obj, const char *name);

/*
 * Returns sys.modules[@module].@name of the interpreter at @interp; 0: there is no such module, or
 * it has no such attribute.
 */
uint64_t heap_module_find(struct heap *h, uint64_t interp, const char *module, const char *name);

/*
 * Offsets of fields of PyTypeObject from the end of its header. All versions (2.7-3.15) have the
 * same offsets.
 */
enum heap_type_field {
	TYPE_BASICSIZE = HEAP_TYPE_FIRST,
	TYPE_FLAGS = 152,
	TYPE_DICT = 248,
	TYPE_DICTOFFSET = 272,
	TYPE_MRO = 328,
};

/* Reads a field of a type; 0: the field can't be read. */
uint64_t heap_type_field(struct heap *h, uint64_t type, enum heap_type_field field);

#endif
