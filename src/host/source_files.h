/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source files that recorded processes name, and the owners of these processes, noted while
 * they live. The page may hold only what both the user who asked and the owners of all these
 * processes can read. A file in a container's own root is opened at once, because the root goes
 * with the container; other files are opened when the page is written.
 */
#ifndef HOST_SOURCE_FILES_H
#define HOST_SOURCE_FILES_H

#include "base/intern.h"
#include "host/source_open.h"

struct named_file {
	int fd;		  /* of the file in a container; -1: none */
	bool own;	  /* a process with krait's own root named it */
	bool gone;	  /* a process named it that had ended before it could be examined */
	bool several;	  /* the name stands for different files */
	bool foreign;	  /* not the caller's own: in a container, or in another user's
			       * process */
	bool textless;	  /* a process named it whose text couldn't be read */
	struct str text;  /* source text from a process's memory, where no file has it; or "" */
	int64_t since_ns; /* wall clock: start of the first process that named it */
	VEC(uint32_t)
	owners; /* owners of the processes with krait's root: ids in
			       * source_files.owners */
};

struct source_files {
	struct source_rules rules;
	bool command;	     /* only what the caller started is recorded: an ended process was
			      * theirs */
	int root;	     /* krait's own root directory */
	uint64_t mount, ino; /* of .root */
	struct intern paths, met, owners;
	VEC(struct proc_owner) owner_of; /* by id - 1 */
	VEC(struct named_file) files;	 /* by path id - 1 */
	struct intern asked;		 /* processes and names whose text was asked for */
	size_t kept, max_kept;		 /* descriptors */
	size_t text_bytes;
};

/* 0 or -errno + message; fini in any case. @rules is copied. */
_must_use_ int source_files_init(struct source_files *f, const struct source_rules *rules,
				 bool command);
void source_files_fini(struct source_files *f);

/*
 * Process @tgid, which started at @start_boot_ns (0: not known), runs code of file @path. @path is
 * hostile.
 */
void source_files_met(struct source_files *f, uint32_t tgid, uint64_t start_boot_ns,
		      const char *path);

/*
 * For collect_config.wants_text and .met_text: source text of code that no file has. If it is
 * missing for one of the processes, none is shown.
 */
bool source_files_wants_text(struct source_files *f, uint32_t tgid, uint64_t start_boot_ns,
			     const char *name, const char *path);
void source_files_met_text(struct source_files *f, const char *path, const struct str *text);

/* For render_options.open_source. @files is a struct source_files *. */
_must_use_ int source_files_open(void *files, const char *path, int64_t *since_ns);

#endif
