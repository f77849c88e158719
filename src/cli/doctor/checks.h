/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of krait doctor. Each adds findings and prints nothing. */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include "cli/doctor/doctor.h"

/* Adds a finding with its text. NULL: out of memory. */
struct finding *finding_add(struct doctor *d, const char *name, enum finding_state state,
			    const char *fmt, ...) _printf_(4, 5);

/* Sets the remedy (a command that helps) of a finding. @f may be NULL. */
void finding_remedy(struct finding *f, const char *fmt, ...) _printf_(2, 3);

/*
 * Reads a file below d->root into @buf, at most @n - 1 bytes, without the newline at its end.
 * False: it can't be read.
 */
bool doctor_file(const struct doctor *d, const char *path, char *buf, size_t n);

/*
 * Does the container let krait record? If not, adds a finding that says why, and returns false.
 * @capable: whether krait has the capabilities that it needs.
 */
bool check_sandbox(struct doctor *d, bool capable);

/* Does the kernel have type information? */
bool doctor_has_btf(const struct doctor *d);

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
