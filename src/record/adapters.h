/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that connect the parts of a recording. The collector doesn't know the sampler, and the
 * side band (perf's reports of what processes do) doesn't know the collector: each gets a table of
 * functions to call, with the session as ctx.
 */
#ifndef RECORD_ADAPTERS_H
#define RECORD_ADAPTERS_H

#include "record/session.h"

/* The functions that the collector calls in the sampler, and in the sampler's unwind store. */
extern const struct collect_ops session_collect_ops;
extern const struct collect_unwind_ops session_unwind_ops;

/*
 * The functions that the side band (sampler/sideband/) calls, for the collector and for the table
 * of targets.
 */
extern const struct sideband_ops session_sideband_ops;

/* Hands a record from a ring to the collector. */
void session_on_record(void *ctx, const void *data, size_t n);

/* Functions for the config of the collector; see collect_config. */
int session_on_added(void *ctx, const struct profile_sample *sample);
void session_on_failed(void *ctx, uint32_t tgid, const char *name, int status);
void session_on_file(void *ctx, uint32_t tgid, uint64_t start_boot_ns, const char *path);
bool session_on_wait(void *ctx, const char *what, unsigned done);
uint32_t session_on_rounds(void *ctx);

#endif
