/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent records until a signal ends it. The sampler is the process that the user started: it
 * has the rights to record, and finds the names of the functions in stacks. The writer owns the
 * store and has no capability (confine.h). The sampler sends a frame (the samples of about a
 * second) at a time through a pipe, and never waits for the writer: frames that don't fit into the
 * pipe are dropped and counted (link.h). A third, small process starts writers (starter.c).
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "record/options.h"
#include "record/session.h"
#include "store/store.h"

struct agent_options {
	const struct session_options *session; /* what to record, without a limit of time */
	const char *store;		       /* the store's directory */
	uint64_t max_bytes; /* the store's size limit in bytes; at least STORE_LEAST_BYTES */
	/* the agent's limit of CPU time, in millionths of one CPU; 0: no limit */
	uint32_t max_cpu_ppm;
	/*
	 * if a service takes more CPU time than this, the samples of that time are kept for longer
	 * (a window is pinned); in millionths of one CPU; 0: never
	 */
	uint64_t pin_cpu_ppm;
	/*
	 * if a service waits longer than this, the samples of that time are kept for longer (a
	 * window is pinned); in millionths of one thread's time; 0: never
	 */
	uint64_t pin_wait_ppm;
	/* when a process ends with an error, keep the samples of that time (pin a window) */
	bool pin_failures;
	/* path of the program that is run when a trigger fires (hook.h); NULL: none */
	const char *on_trigger;
	/* functions whose CPU time is counted: their names (store_count_functions()) */
	const char *const *functions;
	size_t n_functions;
	uid_t user;		   /* the user id of krait's own user; 0: there is no such user */
	gid_t group;		   /* of .user */
	void (*reload)(void *ctx); /* called after a SIGHUP from another process; may be NULL */
	void *reload_ctx;
};

/*
 * session_init() must be called before agent_begin(), and no other function of the session.
 * agent_begin() starts the writer, and returns once the store is open. agent_run() samples until a
 * signal. Both return 0 or -errno + message. agent_end() must be called in any case: it sends the
 * last samples, waits for the writer, and frees the agent that agent_begin() made.
 */
struct agent;
_must_use_ int agent_begin(struct session *s, const struct agent_options *o, struct agent **ret);
_must_use_ int agent_run(struct agent *a);
_must_use_ int agent_end(struct agent *a, int error);

/*
 * agent_confine() and agent_confine_loaded() give up rights that the sampler no longer needs. Call
 * the first after agent_begin(), and the second once the kernel programs are loaded.
 */
void agent_confine(struct agent *a);
void agent_confine_loaded(struct agent *a);

#endif
