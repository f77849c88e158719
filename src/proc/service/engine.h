/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what container engines and the kubelet write about a container into files that belong to
 * root. Only these files are read; no engine is asked. These are the files, and the versions of
 * engines whose format is known:
 * - Docker 24 (moby, container/container.go): /var/lib/docker/containers/ID/config.v2.json
 * - Podman 4 and CRI-O 1.29 (containers/storage 1.50, containers.go; cri-o,
 *   internal/storage/runtime.go): /var/lib/containers/storage/DRIVER-containers/containers.json and
 *   volatile-containers.json
 * - containerd 1.6 and 2.0 (its CRI plugin's annotations): the bundle's config.json in
 *   /run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID
 * - kubelet 1.30 (pkg/kubelet/kuberuntime/legacy.go): the links /var/log/containers/
 *   POD_NAMESPACE_CONTAINER-ID.log
 */
#ifndef PROC_SERVICE_ENGINE_H
#define PROC_SERVICE_ENGINE_H

#include "base/util.h"

/* Heap; NULL: not known. */
struct engine_facts {
	char *name; /* the container's name, without the slash in front that Docker writes */
	/* the image's name, as it was given when the container was started */
	char *image;
	char *pod;	     /* the Kubernetes pod */
	char *pod_namespace; /* the pod's namespace */
	char *pod_container; /* the name that the container has in the pod */
};

/*
 * Reads what the files below the directory @root say of container @id (64 hex digits; any other @id
 * isn't known). Needs the rights to read these files.
 */
void engine_read(int root, const char *id, struct engine_facts *ret);
void engine_facts_fini(struct engine_facts *f);

/*
 * Each of these functions takes facts from the text of one file, which may hold anything. Facts
 * that are known already stay. engine_storage_from() takes the entry of container @id;
 * engine_log_from() takes facts from a link's name.
 */
void engine_docker_from(const char *json, size_t n, struct engine_facts *ret);
void engine_storage_from(const char *json, size_t n, const char *id, struct engine_facts *ret);
void engine_bundle_from(const char *json, size_t n, struct engine_facts *ret);
void engine_log_from(const char *name, const char *id, struct engine_facts *ret);

#endif
