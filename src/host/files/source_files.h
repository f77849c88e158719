/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source files that recorded processes name, and the owners of these processes. krait notes
 * both while the processes live. The HTML page may contain only files that can be read by the user
 * who called krait and by all these owners. A file below a container's root directory is opened at
 * once, because that root directory goes away with the container. Other files are opened when the
 * page is written.
 */
#ifndef HOST_FILES_SOURCE_FILES_H
#define HOST_FILES_SOURCE_FILES_H

#include "base/intern.h"
#include "host/files/source_open.h"

struct named_file {
	/* descriptor of the file if it is below a container's root directory; else -1 */
	int fd;
	bool own; /* a process that has krait's own root directory named the file */
	/* a process that named the file had ended before krait could examine it */
	bool gone;
	bool several; /* processes use this name for different files */
	/*
	 * the caller may not see the text: the file is in a container and isn't the caller's, or
	 * the text is in the memory of another user's process
	 */
	bool foreign;
	/*
	 * the source text is in the memory of a process that named the file, but krait couldn't
	 * read it there
	 */
	bool textless;
	/* source text from a process's memory, if no file has the text; else "" */
	struct str text;
	/* wall clock time at which the first of the processes that named the file started */
	int64_t since_ns;
	VEC(uint32_t)
	/*
	 * owners of those processes that named the file and have krait's root directory: ids in
	 * source_files.owners
	 */
	owners;
};

struct source_files {
	struct source_rules rules;
	/*
	 * only what the caller started is recorded, so even a process that has ended was the
	 * caller's
	 */
	bool command;
	int root;	     /* descriptor of krait's own root directory */
	uint64_t mount, ino; /* of the directory .root: number of its mount, number of its inode */
	struct intern paths, met, owners;
	/* the owners; the index is the owner's id in .owners minus 1 */
	VEC(struct proc_owner) owner_of;
	/* the files; the index is the path's id in .paths minus 1 */
	VEC(struct named_file) files;
	/* pairs of process and file name whose text krait has asked for */
	struct intern asked;
	/* .kept: how many descriptors are kept open; .max_kept: how many may be */
	size_t kept, max_kept;
	size_t text_bytes;
};

/*
 * Prepares to note the files that processes name. @rules is copied. @command: as in struct
 * source_files. 0 or -errno + message. Call source_files_fini() in any case.
 */
_must_use_ int source_files_init(struct source_files *f, const struct source_rules *rules,
				 bool command);
void source_files_fini(struct source_files *f);

/*
 * Notes that process @tgid, which started at @start_boot_ns (0: not known), runs code of file
 * @path. @path may be any text.
 */
void source_files_met(struct source_files *f, uint32_t tgid, uint64_t start_boot_ns,
		      const char *path);

/*
 * source_files_wants_text() and source_files_met_text() are the functions .wants and .met of struct
 * collect_texts. The first tells whether krait wants the source text of code that is in no file;
 * the second takes that text. If several processes name the file, and the text of one of them can't
 * be read, no text is shown. @files is a struct source_files *.
 */
bool source_files_wants_text(void *files, uint32_t tgid, uint64_t start_boot_ns, const char *name,
			     const char *path);
void source_files_met_text(void *files, uint32_t tgid, const char *path, const struct str *text);

/*
 * The function for render_options.open_source: opens source file @path if it may be shown. @files
 * is a struct source_files *.
 */
_must_use_ int source_files_open(void *files, const char *path, int64_t *since_ns);

#endif
