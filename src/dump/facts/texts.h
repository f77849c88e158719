/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source text of code that is in no file, such as a notebook's cells. krait read it from the memory
 * of processes (python/heap/cached_text.h).
 */
#ifndef DUMP_FACTS_TEXTS_H
#define DUMP_FACTS_TEXTS_H

#include <stdint.h>

#include "base/text/str.h"
#include "base/vec.h"

/* The text of the file that process .tgid calls .name. */
struct dump_text {
	uint32_t tgid;
	char *path; /* name of the file in the profile */
	char *name; /* name of the file in the process */
	/*
	 * several files of the process are called .path in the profile, so it isn't known which of
	 * them has the text .text
	 */
	bool several;
	struct str text; /* the lines, each with its newline; "": not known */
};

/* Source texts of all processes. A struct of zeros has no texts. */
struct dump_texts {
	VEC(struct dump_text) list;
	size_t bytes; /* bytes of all texts together */
};

/*
 * dump_texts_wants() and dump_texts_met() are the functions .wants and .met of collect_texts: the
 * first tells whether the text of a file is still wanted, the second stores it.
 * @texts is a struct dump_texts *. A text that was read once isn't replaced by a later one.
 */
bool dump_texts_wants(void *texts, uint32_t tgid, uint64_t start_boot_ns, const char *name,
		      const char *path);
void dump_texts_met(void *texts, uint32_t tgid, const char *path, const struct str *text);

/* Returns the text of file @path of process @tgid; NULL: not known. */
const struct str *dump_texts_find(const struct dump_texts *texts, uint32_t tgid, const char *path);

void dump_texts_fini(struct dump_texts *texts);

#endif
