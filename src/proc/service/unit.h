/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds a process's systemd unit, by the path of its control group. */
#ifndef PROC_SERVICE_UNIT_H
#define PROC_SERVICE_UNIT_H

#include "base/text/str.h"

/*
 * Appends the name of the service unit in the cgroup path @path, without ".service": "web" of
 * /system.slice/web.service. For a process below a user's own systemd manager, it is the name of
 * the user's unit: "jobs" of /user.slice/user-1000.slice/user@1000.service/app.slice/jobs.service.
 * False: there is no unit. Groups within a service's or a scope's group don't count, because
 * systemd hasn't named them.
 */
bool unit_from_cgroup(const char *path, struct str *ret);

#endif
