/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds container ids in cgroup paths; see container.h. */
#include "proc/container/container.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* Takes the next line from *@text, which then begins after the line. False: no line is left. */
static bool next_line(const char **text, const char *end, const char **ret, size_t *ret_n)
{
	const char *nl;

	if (*text >= end)
		return false;
	nl = memchr(*text, '\n', (size_t)(end - *text));
	*ret = *text;
	*ret_n = (size_t)((nl ? nl : end) - *text);
	*text = nl ? nl + 1 : end;
	return true;
}

/* What a line of /proc/PID/cgroup consists of: "4:memory:/path" (v1) or "0::/path" (v2). */
struct hierarchy {
	const char *controllers, *path;
	size_t controllers_n, path_n;
};

static bool take_apart(const char *line, size_t n, struct hierarchy *ret)
{
	const char *end = line + n, *first = memchr(line, ':', n);
	const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;

	if (!second || second + 1 == end)
		return false;
	*ret = (struct hierarchy){first + 1, second + 1, (size_t)(second - first - 1),
				  (size_t)(end - second - 1)};
	return true;
}

static struct hierarchy best_hierarchy(const char *text, size_t n)
{
	struct hierarchy best = {"", "/", 0, 1}, h;
	const char *p = text, *end = text + n, *line;
	size_t line_n;

	while (next_line(&p, end, &line, &line_n)) {
		if (!take_apart(line, line_n, &h))
			continue;
		if (line[0] == '0' && line[1] == ':' && h.path_n > 1)
			return h;
		if (h.path_n > best.path_n)
			best = h;
	}
	return best;
}

void cgroup_path(const char *text, size_t n, struct str *ret)
{
	struct hierarchy h = best_hierarchy(text, n);

	str_add_n(ret, h.path, h.path_n);
}

void cgroup_controllers(const char *text, size_t n, struct str *ret)
{
	struct hierarchy h = best_hierarchy(text, n);

	str_add_n(ret, h.controllers, h.controllers_n);
}

/* Tells whether @s begins with 64 lower-case hex digits, with no hex digit after these. */
static bool is_id(const char *s, size_t n)
{
	if (n < CONTAINER_ID_HEX ||
	    (n > CONTAINER_ID_HEX && isxdigit((unsigned char)s[CONTAINER_ID_HEX])))
		return false;
	for (size_t i = 0; i < CONTAINER_ID_HEX; i++)
		if (!isdigit((unsigned char)s[i]) && (s[i] < 'a' || s[i] > 'f'))
			return false;
	return true;
}

/*
 * Finds the container's id in one component of a path: "ID", "docker-ID.scope",
 * "cri-containerd-ID.scope", "libpod-ID".
 */
static const char *id_in(const char *s, size_t n)
{
	for (size_t i = 0; i + CONTAINER_ID_HEX <= n; i++)
		if ((!i || !isxdigit((unsigned char)s[i - 1])) && is_id(s + i, n - i))
			return s + i;
	return NULL;
}

static bool has_prefix(const char *s, size_t n, const char *prefix)
{
	return n > strlen(prefix) && !memcmp(s, prefix, strlen(prefix));
}

/* Appends the name of a systemd unit. In it, systemd has written '-' as \x2d. */
static void add_unescaped(struct str *ret, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (n - i >= 4 && !memcmp(s + i, "\\x2d", 4)) {
			str_add_c(ret, '-');
			i += 3;
		} else {
			str_add_c(ret, s[i]);
		}
	}
}

/*
 * Adds a machine's name from "machine-NAME.scope" (nspawn, libvirt), "lxc.payload.NAME" or
 * "lxc/NAME".
 */
static bool add_machine(struct str *ret, const char *s, size_t n, bool below_lxc)
{
	size_t suffix = strlen(".scope");

	if (has_prefix(s, n, "machine-") && n > 8 + suffix &&
	    !memcmp(s + n - suffix, ".scope", suffix))
		add_unescaped(ret, s + 8, n - 8 - suffix);
	else if (has_prefix(s, n, "systemd-nspawn@") && n > 15 + 8 &&
		 !memcmp(s + n - 8, ".service", 8))
		add_unescaped(ret, s + 15, n - 15 - 8);
	else if (has_prefix(s, n, "lxc.payload."))
		str_add_n(ret, s + 12, n - 12);
	else if (below_lxc && n)
		str_add_n(ret, s, n);
	else
		return false;
	return true;
}

bool container_from_cgroup(const char *path, struct str *ret)
{
	const char *id = NULL, *machine = NULL, *s, *end = path + strlen(path);
	size_t n, machine_n = 0;
	bool lxc = false, machine_lxc = false;
	struct str probe = {};

	/*
	 * The last id in the path counts, because a container may be inside another container, or
	 * inside a pod's slice.
	 */
	for (s = path; s < end; s += n + 1) {
		n = strcspn(s, "/");
		/*
		 * conmon and similar helpers of a container run on the host, so their cgroup
		 * doesn't count
		 */
		if (!memmem(s, n, "-conmon-", 8) && id_in(s, n))
			id = id_in(s, n);
		if (add_machine(&probe, s, n, lxc)) {
			machine = s;
			machine_n = n;
			machine_lxc = lxc;
		}
		if (n)
			lxc = n == 3 && !memcmp(s, "lxc", 3);
	}
	str_fini(&probe);
	if (id)
		str_add_n(ret, id, CONTAINER_ID_HEX);
	else if (machine)
		return add_machine(ret, machine, machine_n, machine_lxc);
	return id != NULL;
}

bool container_from_mountinfo(const char *text, size_t n, struct str *ret)
{
	const char *p = text, *end = text + n, *line, *at;
	size_t line_n;

	/*
	 * A line looks like "... 254:0 /var/lib/docker/containers/ID/hostname /etc/hostname rw
	 * ...". Only mounts that container engines make count: any other bind mount may be a
	 * user's, and proves nothing.
	 */
	while (next_line(&p, end, &line, &line_n)) {
		if (!memmem(line, line_n, " /etc/hostname ", 15) &&
		    !memmem(line, line_n, " /etc/resolv.conf ", 18))
			continue;
		/* also finds Podman's path, ".../overlay-containers/ID/userdata/hostname" */
		at = memmem(line, line_n, "containers/", 11);
		if (at && is_id(at + 11, (size_t)(line + line_n - at) - 11)) {
			str_add_n(ret, at + 11, CONTAINER_ID_HEX);
			return true;
		}
	}
	return false;
}

#define CONFIG_BYTES (1u << 20)

/*
 * Appends the container's name, which is "Name":"/web" in Docker's JSON. Names are
 * [a-zA-Z0-9][a-zA-Z0-9_.-]+, so nothing in them is escaped.
 */
static bool add_docker_name(const char *json, size_t n, struct str *ret)
{
	static const char key[] = "\"Name\":\"/";
	const char *p = memmem(json, n, key, sizeof(key) - 1), *end = json + n, *first;

	if (!p)
		return false;
	p += sizeof(key) - 1;
	for (first = p; p < end && (isalnum((unsigned char)*p) || memchr("_.-", *p, 3));)
		p++;
	if (p == first || p == end || *p != '"')
		return false;
	str_add_n(ret, first, (size_t)(p - first));
	return true;
}

bool container_name(const char *id, struct str *ret)
{
	char path[128 + CONTAINER_ID_HEX];
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *json = NULL;
	ssize_t n;

	if (!is_id(id, strlen(id)))
		return false;
	snprintf(path, sizeof(path), "/var/lib/docker/containers/%.64s/config.v2.json", id);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	json = fd >= 0 ? malloc(CONFIG_BYTES) : NULL;
	n = json ? read(fd, json, CONFIG_BYTES) : -1;
	return n > 0 && add_docker_name(json, (size_t)n, ret);
}
