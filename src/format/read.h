/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any profile file into memory: every command that takes one reads it here. A new format that can
 * be read is one row in read.c.
 */
#ifndef FORMAT_READ_H
#define FORMAT_READ_H

#include "base/str.h"
#include "profile/profile.h"

/* What a probe sees. All of it is hostile. */
struct read_input {
	const uint8_t *data; /* the whole file, as it is */
	size_t n;
	const uint8_t *head; /* its first bytes, unpacked if it is gzip or zstd */
	size_t head_n;
};

struct read_format {
	const char *name; /* as in render_formats, where it is one of them */
	bool (*probe)(const struct read_input *in);
	/* 0, or -EINVAL, -E2BIG, -ENOMEM + a message that names the byte and the field. */
	int (*read)(const uint8_t *data, size_t n, struct profile **ret);
};

/* Bytes of a profile in any format. 0 or -errno + message. *ret is the caller's to free. */
_must_use_ int read_profile(const uint8_t *data, size_t n, struct profile **ret);

/*
 * The file @path ("-" = standard input) in any format. 0, or -errno + a message that begins with
 * the file's name. A file that no format can be is refused before it is read to its end.
 */
_must_use_ int read_profile_file(const char *path, struct profile **ret);

/*
 * A file that holds two profiles: a page of two recordings (krait diff -o x.html), or a file with the values
 * "before" and "after" (format/folded/folded_in.h), of which each becomes "samples". read_two() and read_two_file()
 * give both; read_two_as_one() gives one profile, in which the label "diff" is "before" or "after". 0, or
 * -errno + message; the caller frees what it gets.
 */
bool read_two_probe(const uint8_t *data, size_t n); /* is it such a page? */
_must_use_ int read_two(const uint8_t *data, size_t n, struct profile *ret[2]);
_must_use_ int read_two_as_one(const uint8_t *data, size_t n, struct profile **ret);
_must_use_ int read_two_file(const char *path, struct profile *ret[2]);

/*
 * The source text in a page after @tag (format/common/embedded.h), "" if there is none. 0, or -errno +
 * message.
 */
_must_use_ int read_source_file(const char *path, const char *tag, struct str *ret);

#endif
