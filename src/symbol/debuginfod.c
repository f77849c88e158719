/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug files by network; see debuginfod.h. The library (it brings libcurl and what that needs) is
 * loaded only when somebody has set DEBUGINFOD_URLS.
 */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

#ifdef KRAIT_STATIC
int debuginfod_fetch(const uint8_t *id, size_t n)
{
	static bool said; /* asked by one thread, for each file */

	if (getenv("DEBUGINFOD_URLS") && !said)
		log_info("DEBUGINFOD_URLS is set, but a static krait can't load libdebuginfod");
	said = true;
	return -ENOENT;
}
#else

/* elfutils/debuginfod.h, the same since 0.178. */
struct debuginfod_client;
typedef struct debuginfod_client *begin_fn(void);
typedef int find_fn(struct debuginfod_client *c, const unsigned char *id, int n, char **path);
typedef void end_fn(struct debuginfod_client *c);

int debuginfod_fetch(const uint8_t *id, size_t n)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod_client *client;
	begin_fn *begin;
	find_fn *find;
	end_fn *end;
	void *library;
	int fd;

	if (!urls || !urls[0])
		return -ENOENT;
	library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		log_info("DEBUGINFOD_URLS is set, but libdebuginfod isn't installed");
		return -ENOENT;
	}
	begin = (begin_fn *)dlsym(library, "debuginfod_begin");
	find = (find_fn *)dlsym(library, "debuginfod_find_debuginfo");
	end = (end_fn *)dlsym(library, "debuginfod_end");
	client = begin && find && end ? begin() : NULL;
	if (!client)
		return -ENOENT;
	fd = find(client, id, (int)n, NULL);
	end(client);
	/* The library stays: libcurl doesn't like to be unloaded. */
	return fd < 0 ? -ENOENT : fd;
}
#endif
