/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a container takes away in addition to capabilities: a user namespace, a seccomp profile or a
 * kernel of its own (gVisor) may keep krait from recording. krait tests for each of these, so that
 * it can name the one that keeps it from recording.
 */
#ifndef HOST_SANDBOX_H
#define HOST_SANDBOX_H

#include <stdbool.h>
#include "base/util.h"

/*
 * Tells whether krait is in another user namespace than the host's. @path is "/proc/self/ns/user".
 */
bool sandbox_is_user_namespace(const char *path);

/* Why krait can't record in this container, and what helps; krait doctor shows this. */
struct sandbox_why {
	const char *name; /* name of krait doctor's finding; NULL: krait can record */
	char text[200];
	const char *remedy;
};

/*
 * Finds out why krait can't record in this container. @capable: krait has the capabilities that it
 * needs, so if a system call is refused, it is a seccomp profile that refuses it.
 */
void sandbox_why(bool capable, struct sandbox_why *ret);

/*
 * Checks that krait can record in this container. @capable: krait has the capabilities that it
 * needs. 0, or -EPERM + message with the command that helps.
 */
_must_use_ int sandbox_check(bool capable);

#endif
