/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the rooms of a recording reach each other. The collector knows no sampler and the side band no
 * collector: they have tables of functions, whose ctx is the session.
 */
#ifndef RECORD_ADAPTERS_H
#define RECORD_ADAPTERS_H

#include "record/session.h"

/* The kernel side and its unwind store, for the collector. */
extern const struct collect_ops session_collect_ops;
extern const struct collect_unwind_ops session_unwind_ops;

/* The collector and the table of targets, for the side band. */
extern const struct sideband_ops session_sideband_ops;

/* A record of a ring, for the collector. */
void session_on_record(void *ctx, const void *data, size_t n);

/* What the collector's config has these for: see collect_config. */
int session_on_added(void *ctx, const struct profile_sample *sample);
void session_on_file(void *ctx, uint32_t tgid, uint64_t start_boot_ns, const char *path);
bool session_on_wait(void *ctx, const char *what, unsigned done);

#endif
