/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The few variables of a process's environment that name its service. No other variable is kept:
 * an environment has passwords.
 */
#ifndef PROC_SERVICE_ENVIRONMENT_H
#define PROC_SERVICE_ENVIRONMENT_H

#include "base/util.h"

/* Heap; NULL: the variable isn't set, or is empty. */
struct service_variables {
	char *otel_name;	    /* OTEL_SERVICE_NAME, else service.name of the attributes */
	char *otel_version;	    /* service.version of OTEL_RESOURCE_ATTRIBUTES */
	char *dd_name, *dd_version; /* DD_SERVICE, DD_VERSION */
};

/*
 * Reads these variables from the environment that the process was started with. Only the first 256
 * KiB are looked at. A variable that can't be read stays NULL.
 */
void service_variables_read(int procdir, struct service_variables *ret);
/* As service_variables_read(), from the @n bytes of /proc/PID/environ, which may hold anything. */
void service_variables_from(const char *environment, size_t n, struct service_variables *ret);
void service_variables_fini(struct service_variables *v);

#endif
