/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of `krait record`: everything it holds, for record.c and its closing lines. */
#ifndef CLI_RECORD_SESSION_H
#define CLI_RECORD_SESSION_H

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
	struct output output;
	char *path;  /* of the output */
	char *title; /* the command line, NULL = made from the profile */
	int epoll_fd;
	uint64_t start_ns, end_ns, shown_ns; /* CLOCK_MONOTONIC */
	uint64_t sideband_lost;
};

#endif
