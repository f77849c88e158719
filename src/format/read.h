/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a profile file of any format into memory, for every command that takes one. Each format is
 * a row of the table in read.c.
 */
#ifndef FORMAT_READ_H
#define FORMAT_READ_H

#include "base/text/str.h"
#include "profile/profile.h"

/*
 * What a format's function .probe gets, to recognize a file of the format. All bytes may be
 * hostile.
 */
struct read_input {
	const uint8_t *data; /* all bytes of the file, unchanged */
	size_t n;
	/* the first bytes of the file, decompressed if the file is gzip or zstd */
	const uint8_t *head;
	size_t head_n;
};

struct read_format {
	/* name of the format; if krait also writes the format, the name in render_formats */
	const char *name;
	bool (*probe)(const struct read_input *in);
	/*
	 * Reads a file. Returns 0, or -EINVAL, -E2BIG or -ENOMEM + a message that names the byte
	 * and the field.
	 */
	int (*read)(const uint8_t *data, size_t n, struct profile **ret);
};

/* Reads a profile of any format from bytes. 0 or -errno + message. The caller frees *ret. */
_must_use_ int read_profile(const uint8_t *data, size_t n, struct profile **ret);

/*
 * Reads the file @path ("-": standard input) in any format that krait reads. 0, or -errno + a
 * message that begins with the file's name. If the beginning of the file is that of no format, it
 * is refused without reading the rest.
 */
_must_use_ int read_profile_file(const char *path, struct profile **ret);

/*
 * Reads a file that holds two profiles: a page that compares two recordings (krait diff -o x.html),
 * or a file with two values, "before" and "after" (format/folded/folded_in.h). Each of these two
 * values becomes the value "samples" of a profile. read_two() and read_two_file() return both
 * profiles. read_two_as_one() returns a single profile, in which the label "diff" is "before" or
 * "after". 0, or -errno + message. The caller frees the profiles.
 */
/* tells whether @data is a page that compares two recordings */
bool read_two_probe(const uint8_t *data, size_t n);
_must_use_ int read_two(const uint8_t *data, size_t n, struct profile *ret[2]);
_must_use_ int read_two_as_one(const uint8_t *data, size_t n, struct profile **ret);
_must_use_ int read_two_file(const char *path, struct profile *ret[2]);

/*
 * Reads the source text that follows @tag (format/common/embedded.h) in a page. *ret is "" if the
 * page has no such text. 0, or -errno + message.
 */
_must_use_ int read_source_file(const char *path, const char *tag, struct str *ret);

#endif
