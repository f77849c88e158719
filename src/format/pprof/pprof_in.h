/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lowest layer of the pprof reader: takes the fields of a protocol buffers message one by one
 * out of gzip, zstd or plain bytes. All bytes are hostile. Only one top-level field is in memory at
 * a time. Errors name the byte of the (uncompressed) message and the field.
 */
#ifndef FORMAT_PPROF_PPROF_IN_H
#define FORMAT_PPROF_PPROF_IN_H

#include "base/vec.h"
#include "format/common/unpack.h"
#include "format/pprof/proto.h"

#define PPROF_FIELD_MAX (16u << 20) /* the most bytes that a top-level field may have */

struct pprof_in {
	struct unpack from;
	uint8_t *buf;
	/* .cap: size of .buf; buf[.at..end): bytes that weren't consumed yet */
	size_t cap, at, end;
	uint64_t base; /* offset of buf[0] in the message */
};

struct pb_field {
	unsigned number;
	enum pb_wire wire;
	uint64_t v; /* value of a field of kind PB_VARINT, PB_FIXED32 or PB_FIXED64 */
	/* the @n bytes of a PB_BYTES field; valid until the next field of the same level */
	const uint8_t *s;
	size_t n;
	/*
	 * offsets in the message, for errors: .off is that of the field's tag, .data_off that of
	 * the field's contents, after the tag and the length
	 */
	uint64_t off;
	uint64_t data_off;
};

struct pb_cursor {
	const uint8_t *at, *end;
	uint64_t off;
	const char *what; /* name of the message, for errors */
};

/* Describes a scalar field of a message, whose value goes to a member of a struct of uint64_t. */
struct pb_scalar {
	unsigned number;
	const char *name; /* name of the field: "Function.id" */
	size_t offset;
};

typedef VEC(uint64_t) pb_numbers;

/* Prepares reading. @data is borrowed and must outlive @in. 0 or -errno + message. */
_must_use_ int pprof_in_open(struct pprof_in *in, const uint8_t *data, size_t n);
void pprof_in_close(struct pprof_in *in);

/* Reads the next top-level field. Returns 1; 0 at the end; -EINVAL or -ENOMEM + message. */
_must_use_ int pprof_in_next(struct pprof_in *in, struct pb_field *f);

/*
 * pb_enter() begins to read the message in field @f, and pb_next() reads its next field. pb_next()
 * returns what pprof_in_next() returns.
 */
_must_use_ int pb_enter(const struct pb_field *f, const char *what, struct pb_cursor *c);
_must_use_ int pb_next(struct pb_cursor *c, struct pb_field *f);

/*
 * Stores the value of field @f in struct @out if one of the @n elements of @specs describes the
 * field; otherwise ignores the field. 0 or -EINVAL + message.
 */
_must_use_ int pb_take(const struct pb_scalar *specs, size_t n, const struct pb_field *f,
		       void *out);

/*
 * Appends the numbers of a repeated field, packed or not, to @out. If there are more than @limit,
 * returns an error.
 */
_must_use_ int pb_repeated(const struct pb_field *f, const char *name, size_t limit,
			   pb_numbers *out);

/* Sets the message "pprof: byte OFF: NAME: what" and returns -EINVAL. */
int pb_bad(uint64_t off, const char *name, const char *fmt, ...) _printf_(3, 4);

#endif
