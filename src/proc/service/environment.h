/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads those few environment variables of a process that name its service. No other variable is
 * kept, because an environment may have passwords in it.
 */
#ifndef PROC_SERVICE_ENVIRONMENT_H
#define PROC_SERVICE_ENVIRONMENT_H

#include "base/util.h"

/* Values of variables, on the heap; NULL: the variable isn't set, or is empty. */
struct service_variables {
	/* OTEL_SERVICE_NAME, or else service.name in OTEL_RESOURCE_ATTRIBUTES */
	char *otel_name;
	char *otel_version;	    /* service.version of OTEL_RESOURCE_ATTRIBUTES */
	char *dd_name, *dd_version; /* DD_SERVICE, DD_VERSION */
};

/*
 * Reads these variables from the environment that the process was started with. Only the first 256
 * KiB are looked at. A variable that can't be read stays NULL.
 */
void service_variables_read(int procdir, struct service_variables *ret);
/*
 * Does the same as service_variables_read() with the @n bytes of a /proc/PID/environ, which may
 * hold anything.
 */
void service_variables_from(const char *environment, size_t n, struct service_variables *ret);
void service_variables_fini(struct service_variables *v);

#endif
