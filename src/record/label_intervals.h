/* SPDX-License-Identifier: BSD-2-Clause */
/* krait record --label-intervals: the labels that the target itself gives to its time. */
#ifndef RECORD_LABEL_INTERVALS_H
#define RECORD_LABEL_INTERVALS_H

#include "record/session.h"

/* A sample was added: what its process's clock is must be known before that has ended. */
void label_intervals_met(struct session *s, const struct profile_sample *sample);

/*
 * Sampling is over: reads the file and labels the recording's samples. What is wrong with it is said, and the
 * recording is as it was without.
 */
void label_intervals_add(struct session *s);

/* What --by is to show: no label that samples might have got from the file and none has. */
const char *label_intervals_by(const struct session *s);

#endif
