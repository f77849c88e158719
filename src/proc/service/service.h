/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the name and version of the service that a process belongs to, without asking any service:
 * from the process's environment, its control group, the files of the container's engine and of the
 * kubelet, and its working directory. Each rule in a table names a source of names; the user
 * chooses the rules' order. What can't be read is left out. Names come from the target, or from
 * files of root: their text is bounded, and has '?' in place of what a terminal would obey.
 */
#ifndef PROC_SERVICE_SERVICE_H
#define PROC_SERVICE_SERVICE_H

#include "base/util.h"

#define SERVICE_BYTES 200 /* the most bytes of a name or version; a longer one is cut */

/*
 * The rules: X(NAME, word, what the rule uses as the name). The manual page and messages use the
 * words.
 */
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

/*
 * The rules, in the order in which they are tried. The first rule that finds a name decides the
 * service's name.
 */
struct service_rules {
	unsigned char order[SERVICE_N_RULES];
	unsigned n; /* number of rules in .order; 0: no service is looked for */
};

/* The rules that are used if the user chooses none. */
#define SERVICE_DEFAULT "otel,dd,pod,container,unit,script"

/*
 * Parses a list of rules' words, separated by commas. 0; -EINVAL + message: a word is unknown, or
 * is there twice.
 */
_must_use_ int service_rules_parse(const char *text, struct service_rules *ret);

/*
 * The state for finding services of processes. @root: descriptor (borrowed) of the directory in
 * which /var/lib/docker and other directories of engines are looked for; -1: krait's root
 * directory. NULL: no memory.
 */
struct services;
struct services *services_new(const struct service_rules *rules, int root);
void services_free(struct services *s); /* may be NULL */

/* What the caller knows of a process. Texts that aren't known are NULL or "". */
struct service_process {
	int procdir;
	const char *name;   /* name of the process's script or module */
	const char *cgroup; /* path of the process's control group */
	/* id of the process's container, which was proved (container_claim.h) */
	const char *container;
	const char *directory; /* working directory of the process, as the process sees it */
};

/*
 * What was found out about a service. All texts are on the heap, and service_fini() frees them;
 * NULL: not known.
 */
struct service {
	char *name;
	/*
	 * service.version of OTEL_RESOURCE_ATTRIBUTES, DD_VERSION, the tag of the container's
	 * image, or the git revision of the working directory, the first of these that there is
	 */
	char *version;
	char *pod;   /* NAMESPACE/POD of Kubernetes */
	char *image; /* the name of the container's image */
};
void service_fini(struct service *s);

/* Finds out what service @p belongs to. */
void service_find(struct services *s, const struct service_process *p, struct service *ret);

#endif
