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
#include "host/files/source_open.h"

struct named_file {
	int fd;	      /* descriptor of the file if it is in the root of a container; -1: none */
	bool own;     /* a process that has krait's own root named the file */
	bool gone;    /* a process named the file, but had ended before it could be examined */
	bool several; /* the name stands for different files in different processes */
	/*
	 * the text isn't the caller's own: the file is in a container, or the text in the memory of
	 * another user's process
	 */
	bool foreign;
	/* a process named the file, and the process's text of it couldn't be read */
	bool textless;
	struct str text;  /* source text from a process's memory, if no file has it; or "" */
	int64_t since_ns; /* wall clock time when the first process started that named the file */
	VEC(uint32_t)
	owners; /* owners of the processes that have krait's root: ids in source_files.owners */
};

struct source_files {
	struct source_rules rules;
	/* only what the caller started is recorded, so a process that has ended was the caller's */
	bool command;
	int root;	     /* descriptor of krait's own root directory */
	uint64_t mount, ino; /* number of the mount, and inode, of the directory .root */
	struct intern paths, met, owners;
	VEC(struct proc_owner) owner_of; /* owners; the index is the id in .owners - 1 */
	VEC(struct named_file) files;	 /* files; the index is the id in .paths - 1 */
	struct intern asked;		 /* pairs of process and name whose text was asked for */
	size_t kept, max_kept;		 /* how many descriptors are open, and may be open */
	size_t text_bytes;
};

/*
 * Prepares noting the files that processes name. @rules is copied. @command: see struct
 * source_files. 0 or -errno + message; source_files_fini() in any case.
 */
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
 * For collect_texts: .wants tells whether the source text of code without a file is wanted; .met
 * takes that text. If one of the processes lacks the text, none is shown. @files is a struct
 * source_files *.
 */
bool source_files_wants_text(void *files, uint32_t tgid, uint64_t start_boot_ns, const char *name,
			     const char *path);
void source_files_met_text(void *files, uint32_t tgid, const char *path, const struct str *text);

/* The function for render_options.open_source. @files is a struct source_files *. */
_must_use_ int source_files_open(void *files, const char *path, int64_t *since_ns);

#endif
