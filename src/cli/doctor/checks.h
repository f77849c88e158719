/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of krait doctor. Each adds findings; none prints. */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include "cli/doctor/doctor.h"

/* Adds a finding with its text; NULL on out of memory. */
struct finding *finding_add(struct doctor *d, const char *name, enum finding_state state,
			    const char *fmt, ...) _printf_(4, 5);

/* Its remedy; @f may be NULL. */
void finding_remedy(struct finding *f, const char *fmt, ...) _printf_(2, 3);

/* Text of a file below d->root, cut at @n - 1 bytes, without the newline at its end; false if it
 * can't be read. */
bool doctor_file(const struct doctor *d, const char *path, char *buf, size_t n);

/*
 * Does the container let krait record? False: a finding says why not. @capable: what capabilities there are suffice.
 */
bool check_sandbox(struct doctor *d, bool capable);

void check_kernel(struct doctor *d);
void check_btf(struct doctor *d);
void check_lockdown(struct doctor *d);
void check_rights(struct doctor *d);
void check_memlock(struct doctor *d);
void check_programs(struct doctor *d);
void check_perf(struct doctor *d);
void check_clock(struct doctor *d);
void check_place(struct doctor *d);

#endif
