/* SPDX-License-Identifier: BSD-2-Clause */
/* What a child of krait does with files that may hang (reader.h): each task's answer takes the place of its question. */
#ifndef PROC_FILE_TASKS_H
#define PROC_FILE_TASKS_H

#include <sys/stat.h>

#include "proc/open_as.h"
#include "proc/reader.h"

#define FILE_TASK_GROUPS 64 /* of who opens; without the others it has fewer rights */
#define FILE_TASK_PATH	 4096

/* An opener, without pointers. */
struct file_opener {
	bool other, has_id;
	uid_t uid;
	gid_t gid;
	uint32_t n;
	gid_t groups[FILE_TASK_GROUPS];
};
struct file_opener file_opener_of(const struct opener *u); /* NULL: krait itself */

/* An O_PATH descriptor, of openat(), or with .resolve of openat2(). */
struct file_walk {
	struct file_opener opener;
	uint64_t flags, resolve;
	char path[FILE_TASK_PATH];
};

/* Of a file that the child keeps. */
struct file_question {
	struct file_opener opener;
	uint32_t serial;
	uint64_t offset, n;
};
struct file_kept {
	uint32_t serial;
	struct stat st;
};

/* The same here. Descriptors, or -errno. */
int file_walk_here(const struct file_walk *w, int dir);
int file_open_here(const struct file_opener *u, int path_fd);

/* Of reader_given(): struct file_walk, its descriptor is handed over; 
 * uint64_t, the number of its file system (file_dev()), struct file_kind (answers.h); */
reader_task file_task_walk, file_task_type;
/* struct file_question and struct file_kept, from then on the child has it; */
reader_task file_task_keep;
/* and of one that it has: bytes, all that there are; struct stat. -ESTALE: it hasn't. */
reader_task file_task_read, file_task_stat;

#endif
