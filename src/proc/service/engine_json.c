/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the JSON that container engines write about containers; see engine.h. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text/json_in.h"
#include "base/text/str.h"
#include "proc/service/engine.h"

/*
 * A member of a JSON object that krait wants. Its value is a string, which is kept in .to, or an
 * object, of which the .n members .of are wanted.
 */
struct member {
	const char *key;
	char **to;
	const struct member *of;
	size_t n;
};

static void keep(char **to, const char *s)
{
	if (*s && !*to)
		*to = strdup(s);
}

/* Reads a value. A string is kept in @to; any other value is skipped. */
static int take_string(struct json_in *in, char **to)
{
	_cleanup_str_ struct str text = {};
	const char *at = in->at + strspn(in->at, " \t\r\n:");
	int r;

	if (at >= in->end || *at != '"')
		return json_in_skip(in);
	r = json_in_string(in, &text);
	if (!r)
		keep(to, str_cstr(&text));
	return r;
}

static int take_object(struct json_in *in, const struct member *members, size_t n);

static int take_member(struct json_in *in, const char *key, const struct member *members, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (streq(key, members[i].key))
			return members[i].of ? take_object(in, members[i].of, members[i].n)
					     : take_string(in, members[i].to);
	return json_in_skip(in);
}

/* Reads an object. Of its members, those in @members are kept; other members are skipped. */
static int take_object(struct json_in *in, const struct member *members, size_t n)
{
	_cleanup_str_ struct str key = {};
	int r = json_in_enter(in, '{');

	if (r)
		return r;
	while ((r = json_in_key(in, &key)) == 1) {
		r = take_member(in, str_cstr(&key), members, n);
		if (r)
			return r;
	}
	return r;
}

/* Parses @json, an object, and keeps those of its members that are in @members. */
static int take_text(const char *json, size_t n, const struct member *members, size_t n_members)
{
	struct json_in in;

	json_in_init(&in, json, n);
	return take_object(&in, members, n_members);
}

void engine_docker_from(const char *json, size_t n, struct engine_facts *ret)
{
	char *name = NULL;
	const struct member config[] = {{"Image", &ret->image}},
			    own[] = {{"Name", &name}, {"Config", .of = config, .n = 1}};

	(void)take_text(json, n, own, ARRAY_SIZE(own));
	if (name)
		keep(&ret->name, name + (*name == '/'));
	free(name);
}

/* One container in the file containers.json. */
struct entry {
	char *id, *name, *metadata;
};

static int take_names(struct json_in *in, char **first)
{
	char *ignored = NULL;
	int r = json_in_enter(in, '[');

	if (r)
		return r;
	while ((r = json_in_item(in)) == 1) {
		r = take_string(in, *first ? &ignored : first);
		free(ignored);
		ignored = NULL;
		if (r)
			return r;
	}
	return r;
}

static int take_entry(struct json_in *in, struct entry *e)
{
	const struct member members[] = {{"id", &e->id}, {"metadata", &e->metadata}};
	_cleanup_str_ struct str key = {};
	int r = json_in_enter(in, '{');

	if (r)
		return r;
	while ((r = json_in_key(in, &key)) == 1) {
		r = streq(str_cstr(&key), "names")
			    ? take_names(in, &e->name)
			    : take_member(in, str_cstr(&key), members, ARRAY_SIZE(members));
		if (r)
			return r;
	}
	return r;
}

/*
 * Reads the metadata of a container, a string that contains JSON. CRI-O's metadata has the name of
 * the pod and that of the container; the name in .names is composed of both.
 */
static void take_metadata(const char *json, struct engine_facts *ret)
{
	char *in_pod = NULL, *pod = NULL;
	const struct member members[] = {
		{"image-name", &ret->image}, {"metadata-name", &in_pod}, {"pod-name", &pod}};

	if (!take_text(json, strlen(json), members, ARRAY_SIZE(members)) && pod && in_pod)
		keep(&ret->pod_container, in_pod);
	free(in_pod);
	free(pod);
}

static void entry_fini(struct entry *e)
{
	free(e->id);
	free(e->name);
	free(e->metadata);
}

void engine_storage_from(const char *json, size_t n, const char *id, struct engine_facts *ret)
{
	struct json_in in;
	bool found = false;
	int r;

	json_in_init(&in, json, n);
	r = json_in_enter(&in, '[');
	while (!r && !found && json_in_item(&in) == 1) {
		_cleanup_(entry_fini) struct entry e = {};

		r = take_entry(&in, &e);
		found = !r && e.id && streq(e.id, id);
		if (!found)
			continue;
		if (e.name)
			keep(&ret->name, e.name);
		if (e.metadata)
			take_metadata(e.metadata, ret);
	}
}

void engine_bundle_from(const char *json, size_t n, struct engine_facts *ret)
{
	const struct member annotations[] = {
		{"io.kubernetes.cri.container-name", &ret->pod_container},
		{"io.kubernetes.cri.image-name", &ret->image},
		{"io.kubernetes.cri.sandbox-name", &ret->pod},
		{"io.kubernetes.cri.sandbox-namespace", &ret->pod_namespace},
	};
	const struct member own[] = {
		{"annotations", .of = annotations, .n = ARRAY_SIZE(annotations)}};

	(void)take_text(json, n, own, ARRAY_SIZE(own));
}
