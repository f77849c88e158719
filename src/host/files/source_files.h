/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source files that recorded processes name, and the users who own these processes. Both are
 * noted while the processes live. The HTML page may hold only files that the user who asked and all
 * these owners can read. A file below a container's own root directory is opened at once, because
 * that root goes away with the container. Other files are opened when the page is written.
 */
#ifndef HOST_FILES_SOURCE_FILES_H
#define HOST_FILES_SOURCE_FILES_H

#include "base/intern.h"
#include "host/files/source_open.h"

struct named_file {
	/* descriptor of the file if the file is in the root of a container; else -1 */
	int fd;
	bool own; /* a process that has krait's own root named the file */
	/* a process named the file, but had ended before krait could examine the process */
	bool gone;
	bool several; /* several processes use the name for different files */
	/*
	 * the caller may not see the text, because the file in a container isn't the caller's, or
	 * the text is in the memory of another user's process
	 */
	bool foreign;
	/*
	 * a process named the file, but the source text couldn't be read from that process's memory
	 */
	bool textless;
	struct str text;  /* source text from a process's memory, if no file has that text; or "" */
	int64_t since_ns; /* wall clock time when the first process started that named the file */
	VEC(uint32_t)
	/*
	 * owners of the processes that named the file and have krait's root: ids in
	 * source_files.owners
	 */
	owners;
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
	/* .kept: how many descriptors are open; .max_kept: the most that may be open */
	size_t kept, max_kept;
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
 * Notes that process @tgid, which started at @start_boot_ns (0: not known), runs code of file
 * @path. @path may hold anything.
 */
void source_files_met(struct source_files *f, uint32_t tgid, uint64_t start_boot_ns,
		      const char *path);

/*
 * The functions .wants and .met of struct collect_texts. source_files_wants_text() tells whether
 * the source text of code without a file is wanted. source_files_met_text() takes that text. If the
 * text of one process can't be read, no text is shown. @files is a struct source_files *.
 */
bool source_files_wants_text(void *files, uint32_t tgid, uint64_t start_boot_ns, const char *name,
			     const char *path);
void source_files_met_text(void *files, uint32_t tgid, const char *path, const struct str *text);

/* The function for render_options.open_source. @files is a struct source_files *. */
_must_use_ int source_files_open(void *files, const char *path, int64_t *since_ns);

#endif
