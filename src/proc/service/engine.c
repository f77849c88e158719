/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds and reads the files that container engines keep about a container; see engine.h. */
#include "proc/service/engine.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/str.h"
#include "proc/container/container.h"
#include "proc/service/files.h"

#define JSON_BYTES (4u << 20)
#define LOGS_MOST  10000 /* how many names of /var/log/containers are looked at */

void engine_facts_fini(struct engine_facts *f)
{
	free(f->name);
	free(f->image);
	free(f->pod);
	free(f->pod_namespace);
	free(f->pod_container);
	*f = (struct engine_facts){};
}

static bool is_id(const char *id)
{
	return strspn(id, "0123456789abcdef") == CONTAINER_ID_HEX && !id[CONTAINER_ID_HEX];
}

static void read_docker(int root, const char *id, struct engine_facts *ret)
{
	_cleanup_str_ struct str path = {}, text = {};

	str_addf(&path, "var/lib/docker/containers/%s/config.v2.json", id);
	if (service_file_below(root, str_cstr(&path), JSON_BYTES, &text))
		engine_docker_from(str_cstr(&text), text.n, ret);
}

/*
 * Looks for the container's entry below each directory DRIVER-containers; DRIVER is the storage
 * driver.
 */
static void read_storage(int root, const char *id, struct engine_facts *ret)
{
	static const char *const drivers[] = {"overlay", "vfs", "btrfs", "zfs"};
	static const char *const files[] = {"containers.json", "volatile-containers.json"};
	_cleanup_str_ struct str path = {}, text = {};

	for (size_t i = 0; i < ARRAY_SIZE(drivers) * ARRAY_SIZE(files); i++) {
		str_clear(&path);
		str_addf(&path, "var/lib/containers/storage/%s-containers/%s",
			 drivers[i / ARRAY_SIZE(files)], files[i % ARRAY_SIZE(files)]);
		if (service_file_below(root, str_cstr(&path), JSON_BYTES, &text))
			engine_storage_from(str_cstr(&text), text.n, id, ret);
	}
}

static void read_containerd(int root, const char *id, struct engine_facts *ret)
{
	static const char *const namespaces[] = {"k8s.io", "default", "moby"};
	_cleanup_str_ struct str path = {}, text = {};

	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
		str_clear(&path);
		str_addf(&path, "run/containerd/io.containerd.runtime.v2.task/%s/%s/config.json",
			 namespaces[i], id);
		if (service_file_below(root, str_cstr(&path), JSON_BYTES, &text))
			engine_bundle_from(str_cstr(&text), text.n, ret);
	}
}

static void read_logs(int root, const char *id, struct engine_facts *ret)
{
	int fd = root < 0 ? -1
			  : openat(root, "var/log/containers", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;

	if (!dir && fd >= 0)
		close(fd);
	for (int i = 0; dir && i < LOGS_MOST && (e = readdir(dir)); i++)
		engine_log_from(e->d_name, id, ret);
	if (dir)
		closedir(dir);
}

void engine_read(int root, const char *id, struct engine_facts *ret)
{
	*ret = (struct engine_facts){};
	if (!is_id(id))
		return;
	read_docker(root, id, ret);
	read_storage(root, id, ret);
	read_containerd(root, id, ret);
	read_logs(root, id, ret);
}

void engine_log_from(const char *name, const char *id, struct engine_facts *ret)
{
	const char *pod_end = strchr(name, '_'), *from = pod_end ? pod_end + 1 : name;
	const char *namespace_end = pod_end ? strchr(from, '_') : NULL, *container, *end;
	_cleanup_str_ struct str suffix = {};

	/*
	 * The link is called POD_NAMESPACE_CONTAINER-ID.log; names in Kubernetes have no
	 * underscore.
	 */
	str_addf(&suffix, "-%s.log", id);
	if (!namespace_end || suffix.failed || !str_ends(namespace_end, str_cstr(&suffix)))
		return;
	container = namespace_end + 1;
	end = container + strlen(container) - suffix.n;
	if (end <= container || pod_end == name || namespace_end == from || ret->pod_namespace)
		return;
	/* CRI-O's files have the container's name in the pod, but not the pod's name */
	free(ret->pod_container);
	ret->pod_container = strndup(container, (size_t)(end - container));
	ret->pod = ret->pod ?: strndup(name, (size_t)(pod_end - name));
	ret->pod_namespace = strndup(from, (size_t)(namespace_end - from));
}
