/* SPDX-License-Identifier: BSD-2-Clause */
/* File systems that don't answer: a program's own FUSE, a server that is gone. */
#ifndef PROC_ANSWERS_H
#define PROC_ANSWERS_H

#include "proc/maps.h"

/*
 * May the file behind @m, of the process of @procdir, be opened by a thread that mustn't wait? A
 * child of krait has tried (reader.h), if the file's file system isn't of a kind that always
 * answers.
 */
bool file_answers(int procdir, const struct mapping *m);

#endif
