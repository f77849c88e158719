/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scope-bound ownership. A resource in a variable with one of these attributes is released when the
 * variable leaves scope. TAKE_PTR and TAKE_FD move the resource out of the variable. So the text of
 * a function alone shows that the function doesn't leak.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define _cleanup_(fn)	   __attribute__((cleanup(fn)))
#define _cleanup_free_	   _cleanup_(cleanup_free)
#define _cleanup_close_	   _cleanup_(cleanup_close)
#define _cleanup_fclose_   _cleanup_(cleanup_fclose)
#define _cleanup_closedir_ _cleanup_(cleanup_closedir)

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) *_pp = &(p);                                                         \
		__typeof__(p) _taken = *_pp;                                                       \
		*_pp = NULL;                                                                       \
		_taken;                                                                            \
	})

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *_fp = &(fd);                                                                  \
		int _taken = *_fp;                                                                 \
		*_fp = -1;                                                                         \
		_taken;                                                                            \
	})

#endif
