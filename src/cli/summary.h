/* SPDX-License-Identifier: BSD-2-Clause */
/* The closing lines: what a recording got, what it lost and why. Nothing is dropped silently. */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "cli/record_session.h"

void summary_print(struct session *s);

#endif
