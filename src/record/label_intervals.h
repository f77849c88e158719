/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels that the target itself gives to its time, in a file of intervals. */
#ifndef RECORD_LABEL_INTERVALS_H
#define RECORD_LABEL_INTERVALS_H

#include "record/session.h"

/* Called for each sample: the clock of its process must be read before the process ends. */
void label_intervals_met(struct session *s, const struct profile_sample *sample);

/* A process was started: it has the labels of the thread that started it. */
void label_intervals_forked(struct session *s, const struct interval_fork *fork);

/*
 * After sampling: reads the file and labels the recording's samples. Faults of the file are in
 * .interval_warnings, and the recording stays as it was without the file.
 */
void label_intervals_add(struct session *s);

#endif
