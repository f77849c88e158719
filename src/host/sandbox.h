/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a container takes away besides capabilities: a user namespace, a seccomp profile, a kernel
 * of its own (gVisor). krait tries each of these, so that it can name the one that is missing.
 */
#ifndef HOST_SANDBOX_H
#define HOST_SANDBOX_H

#include <stdbool.h>
#include "base/util.h"

/*
 * Tells whether krait is in another user namespace than the host's. @path is "/proc/self/ns/user".
 */
bool sandbox_is_user_namespace(const char *path);

/* Why krait can't record in this container, and what helps: shown by krait doctor. */
struct sandbox_why {
	const char *name; /* name of krait doctor's finding; NULL: krait can record */
	char text[200];
	const char *remedy;
};

/*
 * Finds out why krait can't record in this container. @capable: krait has the capabilities that it
 * needs, so if a system call is refused, a seccomp profile refuses it.
 */
void sandbox_why(bool capable, struct sandbox_why *ret);

/*
 * Can krait record in this container? @capable: as in sandbox_why(). 0, or -EPERM + message with
 * the command that helps.
 */
_must_use_ int sandbox_check(bool capable);

#endif
