/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds labels that the target itself gives to its time, in a file of intervals. */
#ifndef RECORD_LABEL_INTERVALS_H
#define RECORD_LABEL_INTERVALS_H

#include "record/session.h"

/*
 * Reads by how much the clock of the sample's process is shifted. To be called for each sample,
 * because the shift can't be read after the process has ended.
 */
void label_intervals_met(struct session *s, const struct profile_sample *sample);

/* Notes that a process was started: it inherits the labels of the thread that started it. */
void label_intervals_forked(struct session *s, const struct interval_fork *fork);

/*
 * Called after sampling: reads the file and labels the recording's samples. Faults in the file are
 * added to .interval_warnings. If the file can't be used at all, no sample gets labels from it.
 */
void label_intervals_add(struct session *s);

#endif
