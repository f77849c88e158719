/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which container a process is in, from the text of /proc/PID/cgroup and
 * /proc/PID/mountinfo. Docker, containerd, CRI-O, Podman and Kubernetes put the 64 hex digits of
 * the id into the cgroup's path; LXC and systemd-nspawn put the machine's name there.
 */
#ifndef PROC_CONTAINER_CONTAINER_H
#define PROC_CONTAINER_CONTAINER_H

#include "base/text/str.h"

#define CONTAINER_ID_HEX 64

/*
 * Appends to @ret the cgroup path in @text, the @n bytes of /proc/PID/cgroup
 * ("0::/system.slice/x.service" and, in v1, a line per hierarchy). That is the path in the v2
 * hierarchy or, if that path is "/" or missing, the longest path in a v1 hierarchy; "/" if no
 * hierarchy has a path.
 */
void cgroup_path(const char *text, size_t n, struct str *ret);

/*
 * Appends the controllers of the hierarchy whose path cgroup_path() takes from the same text:
 * "memory", "name=systemd" (v1), "" (v2).
 */
void cgroup_controllers(const char *text, size_t n, struct str *ret);

/*
 * Appends the container's id, or the machine's name, that cgroup path @path has in it. False: it
 * has neither.
 */
bool container_from_cgroup(const char *path, struct str *ret);

/*
 * Appends the container's id that the source path of a bind mount (.../containers/ID/hostname) has
 * in it. krait needs this if it runs in a container's own cgroup namespace, where the cgroup path
 * is "/". False: there is no such mount.
 */
bool container_from_mountinfo(const char *text, size_t n, struct str *ret);

/*
 * Appends the name that the container engine gave to container @id, if a file has the name
 * (Docker's config.v2.json). False if the name isn't known. Needs the rights to read the engine's
 * directory.
 */
bool container_name(const char *id, struct str *ret);

#endif
