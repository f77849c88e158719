/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files the recorded processes name as their source, and whose processes these are, noted while
 * they live: the page may hold only what the user who asked and the owners of all these processes
 * could read. A file in a container's own root is opened at once, because the root goes with the
 * container; others when the page is written.
 */
#ifndef HOST_SOURCE_FILES_H
#define HOST_SOURCE_FILES_H

#include "base/intern.h"
#include "host/source_open.h"

struct named_file {
	int fd;		      /* in a container; -1: none */
	bool own;	      /* processes with krait's own root named it */
	bool gone;	      /* one named it that had ended before it could be looked at */
	bool several;	      /* not one file */
	bool foreign;	      /* not the caller's own: in a container, or in another's process */
	bool textless;	      /* a process named it whose text couldn't be had */
	struct str text;      /* no file has it, the process's memory had; or "" */
	int64_t since_ns;     /* wall clock: start of the first of these processes */
	VEC(uint32_t) owners; /* of those with krait's root; ids in source_files.owners */
};

struct source_files {
	struct source_rules rules;
	bool command;	     /* only what the caller started is recorded: what is gone was theirs */
	int root;	     /* krait's own */
	uint64_t mount, ino; /* of that */
	struct intern paths, met, owners;
	VEC(struct proc_owner) owner_of; /* by id - 1 */
	VEC(struct named_file) files;	 /* by path id - 1 */
	struct intern asked;   /* whose text was; .path is of the name that it has there */
	size_t kept, max_kept; /* descriptors */
	size_t text_bytes;
};

/* 0 or -errno + message; fini in any case. @rules is copied. */
_must_use_ int source_files_init(struct source_files *f, const struct source_rules *rules,
				 bool command);
void source_files_fini(struct source_files *f);

/* Process @tgid, which started at @start_boot_ns (0: not known), runs code of file @path. Hostile. */
void source_files_met(struct source_files *f, uint32_t tgid, uint64_t start_boot_ns,
		      const char *path);

/* collect_config.wants_text, .met_text: of code that no file has. Where one of the processes has no text, none is shown. */
bool source_files_wants_text(struct source_files *f, uint32_t tgid, uint64_t start_boot_ns,
			     const char *name, const char *path);
void source_files_met_text(struct source_files *f, const char *path, const struct str *text);

/* render_options.open_source. @files: struct source_files *. */
_must_use_ int source_files_open(void *files, const char *path, int64_t *since_ns);

#endif
