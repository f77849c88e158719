/* SPDX-License-Identifier: BSD-2-Clause */
/* The labels that the target itself gives to its time. */
#ifndef RECORD_LABEL_INTERVALS_H
#define RECORD_LABEL_INTERVALS_H

#include "record/session.h"

/* A sample was added: what its process's clock is must be known before that has ended. */
void label_intervals_met(struct session *s, const struct profile_sample *sample);

/* A process was started: it has the labels of the thread that started it. */
void label_intervals_forked(struct session *s, const struct interval_fork *fork);

/*
 * Sampling is over: reads the file and labels the recording's samples. What is wrong with it is in
 * .interval_warnings, and the recording is as it was without.
 */
void label_intervals_add(struct session *s);

#endif
