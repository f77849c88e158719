/* SPDX-License-Identifier: BSD-2-Clause */
/* The systemd unit of a process, from the path of its control group. */
#ifndef PROC_SERVICE_UNIT_H
#define PROC_SERVICE_UNIT_H

#include "base/text/str.h"

/*
 * Appends the name of the service unit in the cgroup path @path, without ".service": "web" of
 * /system.slice/web.service. Of a user's own systemd manager, the name is that of the user's unit:
 * "jobs" of /user.slice/user-1000.slice/user@1000.service/app.slice/jobs.service. False: none. What
 * lies within a service's or a scope's group was named by somebody else than systemd, and doesn't
 * count.
 */
bool unit_from_cgroup(const char *path, struct str *ret);

#endif
