/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What people call the service that a process belongs to, and its version, without asking any
 * service: from the process's environment, its control group, the files of the container's engine
 * and of the kubelet, and its working directory. A table of rules says where names come from; the
 * user orders them. What can't be read is left out. Names are the target's own words, or those of
 * root's files: their text is bounded, and what a terminal would obey is '?' in it.
 */
#ifndef PROC_SERVICE_SERVICE_H
#define PROC_SERVICE_SERVICE_H

#include "base/util.h"

#define SERVICE_BYTES 200 /* the most bytes of a name or version; a longer one is cut */

/* The rules: X(NAME, word, what it takes). The man page and messages use the words. */
#define SERVICE_RULES(X)                                                                           \
	X(OTEL, "otel", "OTEL_SERVICE_NAME, or service.name of OTEL_RESOURCE_ATTRIBUTES")          \
	X(DD, "dd", "DD_SERVICE")                                                                  \
	X(POD, "pod", "the container's name in its Kubernetes pod")                                \
	X(CONTAINER, "container", "the container's name")                                          \
	X(IMAGE, "image", "the last part of the name of the container's image")                    \
	X(UNIT, "unit", "the systemd unit")                                                        \
	X(VENV, "venv", "the directory with the virtual environment")                              \
	X(SCRIPT, "script", "the script, the module or the program")

enum service_rule {
#define X(name, word, what) SERVICE_##name,
	SERVICE_RULES(X)
#undef X
		SERVICE_N_RULES
};

/* The rules in the order in which they are asked; the first that knows a name gives it. */
struct service_rules {
	unsigned char order[SERVICE_N_RULES];
	unsigned n; /* 0: no service is looked for */
};

/* The order that a user gets who chooses none. */
#define SERVICE_DEFAULT "otel,dd,pod,container,unit,script"

/* Reads words with commas between them. 0; -EINVAL + message: an unknown word, or one twice. */
_must_use_ int service_rules_parse(const char *text, struct service_rules *ret);

/*
 * What is known of processes' services. @root: a directory in which /var/lib/docker and others are
 * looked for; the caller's; -1: the root directory. NULL: no memory.
 */
struct services;
struct services *services_new(const struct service_rules *rules, int root);
void services_free(struct services *s); /* may be NULL */

/* A process, as far as it is known. Texts that aren't known are NULL or "". */
struct service_process {
	int procdir;
	const char *name;      /* its script or module */
	const char *cgroup;    /* the path of its control group */
	const char *container; /* the id of its container, which was proved */
	const char *directory; /* its working directory, as the process sees it */
};

/* All heap, service_fini() frees them; NULL: not known. */
struct service {
	char *name;
	/*
	 * service.version of OTEL_RESOURCE_ATTRIBUTES, DD_VERSION, the tag of the container's
	 * image, or the git revision of the working directory, whichever is found first
	 */
	char *version;
	char *pod;   /* NAMESPACE/POD of Kubernetes */
	char *image; /* the name of the container's image */
};
void service_fini(struct service *s);

/* Finds out what service @p belongs to. */
void service_find(struct services *s, const struct service_process *p, struct service *ret);

#endif
