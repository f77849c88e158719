/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of `krait doctor`. Each check adds its findings, and prints nothing. */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include "cli/doctor/doctor.h"

/* Adds a finding. Its text comes from @fmt. NULL: out of memory. */
struct finding *finding_add(struct doctor *d, const char *name, enum finding_state state,
			    const char *fmt, ...) _printf_(4, 5);

/* Sets the remedy of a finding: a command that helps. @f may be NULL. */
void finding_remedy(struct finding *f, const char *fmt, ...) _printf_(2, 3);

/*
 * Reads a file below directory d->root into @buf: at most @n - 1 bytes, without the newline at the
 * end. Returns false if it can't be read.
 */
bool doctor_file(const struct doctor *d, const char *path, char *buf, size_t n);

/*
 * Tells whether the container lets krait record. If it doesn't, adds a finding that says why.
 * @capable: krait has the capabilities that it needs.
 */
bool check_sandbox(struct doctor *d, bool capable);

/* Tells whether the kernel has BTF, the type information that krait's programs need. */
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
