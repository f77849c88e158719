/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of `krait record`: everything it holds, for record.c and its closing lines. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <time.h>

#include "base/vec.h"
#include "cli/caller.h"
#include "cli/output.h"
#include "cli/record.h"
#include "cli/rights.h"
#include "cli/spawn.h"
#include "collect/collect.h"
#include "proc/match.h"
#include "sampler/sampler.h"
#include "sampler/sideband.h"

struct session {
	const struct record_options *options;
	struct rights rights;
	struct caller caller;
	struct event event;
	struct proc_match match;
	bool filtered; /* by name, cgroup or container */
	struct profile *profile;
	VEC(struct profile_label) labels;
	struct sampler *sampler;
	struct sideband *sideband;
	struct collect *collect;
	struct spawn spawn;
	struct output output, summary; /* summary: if it was asked for */
	char *path;		       /* of the output */
	char *title;		       /* the command line, NULL = made from the profile */
	int epoll_fd;
	uint64_t start_ns, end_ns, shown_ns; /* CLOCK_MONOTONIC */
	uint64_t start_cpu_ns;		     /* krait's own CPU time until sampling began */
	uint64_t sideband_lost;
	uint64_t unfollowed; /* child processes for which there was no room among the roots */
};

uint64_t session_clock_ns(clockid_t id);

/* Opens everything that takes rights; samples come only after sampler_enable(). 0 or -errno. */
_must_use_ int session_set_up(struct session *s);
void session_fini(struct session *s);

/* What was profiled, for the picture's title and for whoever reads the recording later. */
void session_describe_target(struct session *s);

/* Adds "key: value" to the recording's comments; what doesn't fit is left out. */
void session_add_comment(struct session *s, const char *key, const char *value);

/* Tells the kernel programs which processes are wanted and what is known of them. 0 or -errno. */
_must_use_ int session_add_targets(struct session *s);

/* Side band: thread @tid ended. A process that ended is no target any more: its number is free. */
void session_exit(struct session *s, uint32_t tgid, uint32_t tid);

/* True once every process of -p has ended. */
bool session_targets_ended(struct session *s);

#endif
