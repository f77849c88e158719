/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks for a child of krait: what it does with files that may hang (reader.h). Each task writes
 * its answer over the request.
 */
#ifndef PROC_FILES_FILE_TASKS_H
#define PROC_FILES_FILE_TASKS_H

#include <sys/stat.h>

#include "proc/files/open_as.h"
#include "proc/read/reader.h"

/*
 * The most groups with which a child can open files for a user. Further groups of the user don't
 * count.
 */
#define FILE_TASK_GROUPS 64
#define FILE_TASK_PATH	 4096

/* A struct opener (open_as.h) without pointers, in the form in which a child of krait gets it. */
struct file_opener {
	bool other, has_id;
	uid_t uid;
	gid_t gid;
	uint32_t n;
	gid_t groups[FILE_TASK_GROUPS];
};
/* @u NULL: files are opened with krait's own rights */
struct file_opener file_opener_of(const struct opener *u);

/*
 * How a child gets an O_PATH descriptor of a file: by openat2() if .resolve is set, else by
 * openat().
 */
struct file_walk {
	struct file_opener opener;
	uint64_t flags, resolve;
	char path[FILE_TASK_PATH];
};

/* A request for a part of a file that the child keeps open. */
struct file_question {
	struct file_opener opener;
	uint32_t serial;
	uint64_t offset, n;
};
struct file_kept {
	uint32_t serial;
	struct stat st;
};

/*
 * These functions do in the calling process what file_task_walk and file_task_keep do in a child.
 * file_walk_here() finds a file; file_open_here() opens a file of which @path_fd is an O_PATH
 * descriptor. Both return a descriptor or -errno.
 */
int file_walk_here(const struct file_walk *w, int dir);
int file_open_here(const struct file_opener *u, int path_fd);

/*
 * Tasks that work on the descriptor from reader_given(). file_task_walk: the request is a struct
 * file_walk, and the task hands over the O_PATH descriptor of the file. file_task_type: the request
 * is a uint64_t, the number of the file system (file_dev()), and the answer is a struct file_kind
 * (answers.h).
 */
reader_task file_task_walk, file_task_type;
/*
 * A task that works on the descriptor from reader_given(): the request is a struct file_question,
 * the answer a struct file_kept. After this task the child keeps the file open.
 */
reader_task file_task_keep;
/*
 * Tasks on a file that the child keeps open; the request is a struct file_question. file_task_read
 * answers with the bytes that the file has in the wanted part, file_task_stat with a struct stat.
 * -ESTALE: the child doesn't have the file.
 */
reader_task file_task_read, file_task_stat;

#endif
