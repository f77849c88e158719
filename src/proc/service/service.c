/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the name of a service by rules, in the order that the user chose; see service.h. */
#include "proc/service/service.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "base/text/visible.h"
#include "proc/service/engine.h"
#include "proc/service/environment.h"
#include "proc/service/files.h"
#include "proc/service/git.h"
#include "proc/service/image.h"
#include "proc/service/unit.h"

/*
 * For how many containers krait keeps what engines' files say, because reading these may take long.
 */
#define CONTAINERS 16

struct services {
	struct service_rules rules;
	int root;
	struct {
		char *id;
		struct engine_facts facts;
	} known[CONTAINERS];
	size_t next; /* index of the entry of .known that is replaced next */
};

/* A process whose service is being looked for, and what was read of the process so far. */
struct look {
	struct services *all;
	const struct service_process *p;
	struct service_variables variables;
	bool has_variables;
	struct service_files files;
	bool has_files;
};

struct services *services_new(const struct service_rules *rules, int root)
{
	struct services *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->rules = *rules;
	s->root = root >= 0 ? fcntl(root, F_DUPFD_CLOEXEC, 3)
			    : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return s;
}

void services_free(struct services *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < CONTAINERS; i++) {
		free(s->known[i].id);
		engine_facts_fini(&s->known[i].facts);
	}
	if (s->root >= 0)
		close(s->root);
	free(s);
}

static const struct service_variables *variables(struct look *l)
{
	if (!l->has_variables)
		service_variables_read(l->p->procdir, &l->variables);
	l->has_variables = true;
	return &l->variables;
}

static const struct service_files *files(struct look *l)
{
	if (!l->has_files)
		service_files_init(&l->files, l->p->procdir);
	l->has_files = true;
	return &l->files;
}

/* Returns what the container engine's files say of the process's container; never NULL. */
static const struct engine_facts *engine(struct look *l)
{
	static const struct engine_facts none;
	struct services *s = l->all;
	const char *id = l->p->container;
	size_t i = s->next % CONTAINERS;

	if (!id || !*id)
		return &none;
	for (size_t k = 0; k < CONTAINERS; k++)
		if (s->known[k].id && streq(s->known[k].id, id))
			return &s->known[k].facts;
	free(s->known[i].id);
	engine_facts_fini(&s->known[i].facts);
	s->known[i].id = strdup(id);
	engine_read(s->root, id, &s->known[i].facts);
	s->next++;
	return &s->known[i].facts;
}

static void add(struct str *ret, const char *text)
{
	str_add(ret, text ?: "");
}

static void find_OTEL(struct look *l, struct str *ret)
{
	add(ret, variables(l)->otel_name);
}

static void find_DD(struct look *l, struct str *ret)
{
	add(ret, variables(l)->dd_name);
}

static void find_POD(struct look *l, struct str *ret)
{
	add(ret, engine(l)->pod_container);
}

static void find_CONTAINER(struct look *l, struct str *ret)
{
	add(ret, engine(l)->name);
}

static void find_IMAGE(struct look *l, struct str *ret)
{
	if (engine(l)->image)
		image_name(engine(l)->image, ret);
}

static void find_UNIT(struct look *l, struct str *ret)
{
	if (l->p->cgroup)
		unit_from_cgroup(l->p->cgroup, ret);
}

static void find_VENV(struct look *l, struct str *ret)
{
	venv_find(files(l), l->p->procdir, l->p->directory, ret);
}

static void find_SCRIPT(struct look *l, struct str *ret)
{
	add(ret, l->p->name);
}

/* a rule's function: appends the service's name, if the rule finds a name */
typedef void (*find_fn)(struct look *l, struct str *ret);

static const struct rule {
	const char *word;
	find_fn find;
} rules[] = {
#define X(name, word, what) [SERVICE_##name] = {word, find_##name},
	SERVICE_RULES(X)
#undef X
};

/* Returns the index of the rule whose word is the @n bytes at @word, or -1. */
static int rule_of(const char *word, size_t n)
{
	for (int i = 0; i < SERVICE_N_RULES; i++)
		if (strlen(rules[i].word) == n && !memcmp(rules[i].word, word, n))
			return i;
	return -1;
}

static int refuse(const char *word, size_t n)
{
	_cleanup_str_ struct str list = {};

	for (size_t i = 0; i < SERVICE_N_RULES; i++)
		str_addf(&list, "%s%s", i ? i + 1 < SERVICE_N_RULES ? ", " : " and " : "",
			 rules[i].word);
	return err_set(-EINVAL, "'%.*s' is no rule for the name of a service; the rules are %s",
		       (int)MIN(n, 64u), word, str_cstr(&list));
}

static bool has(const struct service_rules *r, int rule)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->order[i] == rule)
			return true;
	return false;
}

int service_rules_parse(const char *text, struct service_rules *ret)
{
	struct service_rules r = {};

	for (;;) {
		size_t n = strcspn(text, ",");
		int rule = rule_of(text, n);

		if (rule < 0)
			return refuse(text, n);
		if (has(&r, rule))
			return err_set(-EINVAL, "'%s' is there twice", rules[rule].word);
		r.order[r.n++] = (unsigned char)rule;
		if (!text[n])
			break;
		text += n + 1;
	}
	*ret = r;
	return 0;
}

/*
 * Takes over @text, which the target chose: cuts it to a bound, and replaces characters that a
 * terminal obeys. Returns NULL if the text is empty.
 */
static char *clean(struct str *text)
{
	char *s;

	if (!text->n)
		return NULL;
	s = str_take(text);
	if (s && strlen(s) > SERVICE_BYTES)
		s[SERVICE_BYTES] = '\0';
	if (s)
		visible_in_place(s);
	return s;
}

static char *find_name(struct look *l)
{
	const struct service_rules *r = &l->all->rules;
	_cleanup_str_ struct str name = {};

	for (unsigned i = 0; i < r->n && !name.n; i++)
		rules[r->order[i]].find(l, &name);
	return clean(&name);
}

static char *find_version(struct look *l)
{
	_cleanup_str_ struct str version = {};

	add(&version, variables(l)->otel_version);
	if (!version.n)
		add(&version, variables(l)->dd_version);
	if (!version.n && engine(l)->image)
		image_tag(engine(l)->image, &version);
	if (!version.n && l->p->directory)
		git_revision(files(l), l->p->directory, &version);
	return clean(&version);
}

static char *find_pod(struct look *l)
{
	const struct engine_facts *f = engine(l);
	_cleanup_str_ struct str pod = {};

	if (f->pod && f->pod_namespace)
		str_addf(&pod, "%s/%s", f->pod_namespace, f->pod);
	return clean(&pod);
}

static char *find_whole_image(struct look *l)
{
	_cleanup_str_ struct str image = {};

	add(&image, engine(l)->image);
	return clean(&image);
}

void service_fini(struct service *s)
{
	free(s->name);
	free(s->version);
	free(s->pod);
	free(s->image);
	*s = (struct service){};
}

void service_find(struct services *s, const struct service_process *p, struct service *ret)
{
	struct look l = {.all = s, .p = p};

	*ret = (struct service){.name = find_name(&l),
				.version = find_version(&l),
				.pod = find_pod(&l),
				.image = find_whole_image(&l)};
	service_variables_fini(&l.variables);
	if (l.has_files)
		service_files_fini(&l.files);
}
