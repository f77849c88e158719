/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent: records until it is told to end. The sampler, which is the process that was started,
 * has the rights and names stacks. The writer owns the store and has no capability (confine.h). The
 * sampler sends a frame a second through a pipe, and never waits for the writer: frames that don't
 * fit into the pipe are dropped and counted (link.h). A third, small process starts writers
 * (starter.c).
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "record/options.h"
#include "record/session.h"
#include "store/store.h"

struct agent_options {
	const struct session_options *session; /* what to record, without a limit of time */
	const char *store;		       /* the store's directory */
	uint64_t max_bytes;   /* the most bytes of the store, STORE_LEAST_BYTES at least */
	uint32_t max_cpu_ppm; /* the most CPU time, in millionths of one CPU; 0: no limit */
	/* CPU time above which a service pins a window, in millionths of one CPU; 0: none */
	uint64_t pin_cpu_ppm;
	/* waiting above which a service pins one, in millionths of one thread's time; 0: none */
	uint64_t pin_wait_ppm;
	bool pin_failures; /* pin a window when a process ends with an error */
	/* path of the program that is run when a trigger fires (hook.h); NULL: none */
	const char *on_trigger;
	/* names of functions whose CPU time is counted (store_count_functions()) */
	const char *const *functions;
	size_t n_functions;
	uid_t user;		   /* the user id of krait's own user; 0: there is no such user */
	gid_t group;		   /* of .user */
	void (*reload)(void *ctx); /* called after a SIGHUP that a process sent; may be NULL */
	void *reload_ctx;
};

/*
 * session_init() must be called before agent_begin(), and no other function of the session.
 * agent_begin() starts the writer, and returns once the store is open. agent_run() samples until a
 * signal. Both return 0 or -errno + message. agent_end() must be called in any case: it sends what
 * is left, waits for the writer, and frees what agent_begin() returned in *ret.
 */
struct agent;
_must_use_ int agent_begin(struct session *s, const struct agent_options *o, struct agent **ret);
_must_use_ int agent_run(struct agent *a);
_must_use_ int agent_end(struct agent *a, int error);

/*
 * Give up rights that the sampler no longer needs. agent_confine() is called after agent_begin(),
 * and agent_confine_loaded() once the kernel programs are loaded.
 */
void agent_confine(struct agent *a);
void agent_confine_loaded(struct agent *a);

#endif
