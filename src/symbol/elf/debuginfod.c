/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fetches debug files over the network; see debuginfod.h. libdebuginfod, which needs libcurl and
 * more, is loaded only if DEBUGINFOD_URLS is set.
 */
#include "symbol/elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/system/clock.h"
#include "base/system/log.h"
#include "base/work/worker.h"

#ifdef KRAIT_STATIC
int debuginfod_fetch(const uint8_t *id, size_t n)
{
	/*
	 * whether krait has told the user that a statically linked krait can't fetch; this variable
	 * needs no lock, because only one thread asks for debug files
	 */
	static bool said;

	if (getenv("DEBUGINFOD_URLS") && !said)
		log_info("DEBUGINFOD_URLS is set, but a statically linked krait can't load "
			 "libdebuginfod");
	said = true;
	return -ENOENT;
}

unsigned debuginfod_unfetched(void)
{
	return 0;
}

void debuginfod_reset(uint64_t ns)
{
}
#else

/* Declarations as in elfutils/debuginfod.h, where they are unchanged since 0.179. */
struct debuginfod_client;
typedef struct debuginfod_client *begin_fn(void);
typedef int find_fn(struct debuginfod_client *c, const unsigned char *id, int n, char **path);
typedef int progress_fn(struct debuginfod_client *c, long a, long b);
typedef void set_progress_fn(struct debuginfod_client *c, progress_fn *fn);
typedef void end_fn(struct debuginfod_client *c);

struct library {
	begin_fn *begin;
	find_fn *find;
	set_progress_fn *set_progress;
	end_fn *end;
};

/* The time of all fetches together: how long at least one fetch was running. */
static struct {
	pthread_mutex_t lock;
	/*
	 * the most time that fetches may take, the time that they have taken so far, and since when
	 * at least one fetch is running
	 */
	uint64_t most_ns, spent_ns, since_ns;
	unsigned running, unfetched;
	bool over;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .most_ns = DEBUGINFOD_SECONDS * NSEC_PER_SEC};

static uint64_t spent(uint64_t now)
{
	return all.spent_ns + (all.running ? now - all.since_ns : 0);
}

/* Begins a fetch. False: no time is left for another fetch. */
static bool begin(void)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool may;

	pthread_mutex_lock(&all.lock);
	may = !all.over && spent(now) < all.most_ns;
	if (!may)
		all.unfetched++;
	else if (!all.running++)
		all.since_ns = now;
	pthread_mutex_unlock(&all.lock);
	return may;
}

/* Ends a fetch. @r: the result of the fetch. */
static void end(int r)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool late = r < 0 && spent(now) >= all.most_ns;

	pthread_mutex_lock(&all.lock);
	if (r == -ETIME || late) {
		all.unfetched++;
		if (!all.over)
			log_info("debuginfod: no more debug files are fetched: %s",
				 late ? "the time for fetching them is over"
				      : "a server doesn't answer");
		all.over = true;
	}
	if (!--all.running)
		all.spent_ns += now - all.since_ns;
	pthread_mutex_unlock(&all.lock);
}

/*
 * libdebuginfod calls this at least once a second while it waits for a server, and gives up the
 * fetch if this function doesn't return 0.
 */
static int is_enough(struct debuginfod_client *c, long a, long b)
{
	bool over;

	pthread_mutex_lock(&all.lock);
	over = all.over || spent(clock_ns(CLOCK_MONOTONIC)) >= all.most_ns;
	pthread_mutex_unlock(&all.lock);
	return over || worker_cancelled();
}

/* libdebuginfod stays loaded, because unloading it may break libcurl. */
static bool load(struct library *l)
{
	void *so = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!so) {
		log_info("DEBUGINFOD_URLS is set, but libdebuginfod isn't installed");
		return false;
	}
	*l = (struct library){
		.begin = (begin_fn *)dlsym(so, "debuginfod_begin"),
		.find = (find_fn *)dlsym(so, "debuginfod_find_debuginfo"),
		.set_progress = (set_progress_fn *)dlsym(so, "debuginfod_set_progressfn"),
		.end = (end_fn *)dlsym(so, "debuginfod_end"),
	};
	return l->begin && l->find && l->set_progress && l->end;
}

static int fetch(const struct library *l, const uint8_t *id, size_t n)
{
	struct debuginfod_client *client = l->begin();
	int fd;

	if (!client)
		return -ENOENT;
	l->set_progress(client, is_enough);
	fd = l->find(client, id, (int)n, NULL);
	l->end(client);
	return fd;
}

int debuginfod_fetch(const uint8_t *id, size_t n)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct library l;
	int fd;

	if (!urls || !urls[0] || !load(&l))
		return -ENOENT;
	if (!begin())
		return -ETIME;
	worker_step("debug file, from a server of DEBUGINFOD_URLS,");
	fd = fetch(&l, id, n);
	worker_step("names");
	end(fd);
	if (fd >= 0)
		return fd;
	return fd == -ETIME || is_enough(NULL, 0, 0) ? -ETIME : -ENOENT;
}

unsigned debuginfod_unfetched(void)
{
	unsigned n;

	pthread_mutex_lock(&all.lock);
	n = all.unfetched;
	pthread_mutex_unlock(&all.lock);
	return n;
}

void debuginfod_reset(uint64_t ns)
{
	pthread_mutex_lock(&all.lock);
	all.most_ns = ns;
	all.spent_ns = 0;
	all.unfetched = 0;
	all.over = false;
	pthread_mutex_unlock(&all.lock);
}
#endif
