/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source text of code that no file holds, such as a notebook's cells: what the processes have in
 * their own memory (python/heap/cached_text.h).
 */
#ifndef DUMP_TEXTS_H
#define DUMP_TEXTS_H

#include <stdint.h>

#include "base/text/str.h"
#include "base/vec.h"

/* The text of file .path of process .tgid. */
struct dump_text {
	uint32_t tgid;
	char *path;	 /* name of the file in the profile */
	char *name;	 /* name of the file in the process */
	bool several;	 /* two files of the process have the name .path: the text isn't known */
	struct str text; /* lines, each with a newline; "": not known */
};

/* Zero-initialised is empty. */
struct dump_texts {
	VEC(struct dump_text) list;
	size_t bytes; /* bytes of all texts together */
};

/*
 * For collect_texts.wants and .met. @texts is a struct dump_texts *. A text that was read stays as
 * it is.
 */
bool dump_texts_wants(void *texts, uint32_t tgid, uint64_t start_boot_ns, const char *name,
		      const char *path);
void dump_texts_met(void *texts, uint32_t tgid, const char *path, const struct str *text);

/* The text of file @path of process @tgid; NULL: not known. */
const struct str *dump_texts_find(const struct dump_texts *texts, uint32_t tgid, const char *path);

void dump_texts_fini(struct dump_texts *texts);

#endif
