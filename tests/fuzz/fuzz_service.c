/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as one of the texts from which krait takes a service's name: an environment, a
 * container engine's JSON, the name of a link to a log, a cgroup's path, an image's name, git's
 * packed-refs. The first byte chooses the text.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text/str.h"
#include "proc/service/engine.h"
#include "proc/service/environment.h"
#include "proc/service/git.h"
#include "proc/service/image.h"
#include "proc/service/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void read_environment(const char *text, size_t n)
{
	struct service_variables v;

	service_variables_from(text, n, &v);
	check(!v.dd_name || *v.dd_name);
	check(!v.otel_name || *v.otel_name);
	service_variables_fini(&v);
}

static void read_engines(const char *text, size_t n)
{
	struct engine_facts f = {};

	engine_docker_from(text, n, &f);
	engine_storage_from(text, n, ID, &f);
	engine_bundle_from(text, n, &f);
	check(!f.image || *f.image);
	engine_facts_fini(&f);
}

static void read_texts(const char *text, size_t n)
{
	struct str out = {};
	struct engine_facts f = {};
	const char *packed = git_packed(text, "refs/heads/main");

	check(!packed || git_is_object(packed));
	check(unit_from_cgroup(text, &out) == (out.n > 0));
	str_clear(&out);
	image_name(text, &out);
	image_tag(text, &out);
	check(out.n <= n);
	str_fini(&out);
	engine_log_from(text, ID, &f);
	check(!f.pod == !f.pod_container && !f.pod == !f.pod_namespace);
	engine_facts_fini(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = n ? malloc(n) : NULL;

	if (!text)
		return 0;
	memcpy(text, data + 1, n - 1);
	text[n - 1] = '\0';
	if (data[0] == 'e')
		read_environment(text, n - 1);
	else if (data[0] == 'j')
		read_engines(text, n - 1);
	else
		read_texts(text, n - 1);
	free(text);
	return 0;
}
