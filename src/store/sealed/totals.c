/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums up the time of services and of functions that the user named; see totals.h. */
#include "store/sealed/totals.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"

void totals_fini(struct totals *t)
{
	vec_foreach(total, &t->list)
		free(total->name);
	vec_fini(&t->list);
}

static size_t count(const struct totals *t, enum total_kind kind)
{
	size_t n = 0;

	vec_foreach(total, &t->list)
		n += total->kind == kind;
	return n;
}

static struct total *find(struct totals *t, enum total_kind kind, const char *name)
{
	vec_foreach(total, &t->list)
		if (total->kind == kind && streq(total->name, name))
			return total;
	return NULL;
}

struct total *totals_get(struct totals *t, enum total_kind kind, const char *name)
{
	struct total *known = find(t, kind, name), new = {.kind = kind};

	if (known)
		return known;
	if (kind == TOTAL_SERVICE && !streq(name, TOTALS_OTHERS) &&
	    (count(t, kind) >= TOTALS_SERVICES || strlen(name) > TOTALS_NAME_BYTES))
		return totals_get(t, kind, TOTALS_OTHERS);
	if (kind == TOTAL_FUNCTION && count(t, kind) >= TOTALS_FUNCTIONS) {
		(void)err_set(-E2BIG, "at most %d functions can be counted", TOTALS_FUNCTIONS);
		return NULL;
	}
	new.name = strdup(name);
	if (!new.name || vec_push(&t->list, new)) {
		free(new.name);
		(void)err_nomem();
		return NULL;
	}
	return &t->list.v[t->list.n - 1];
}

/* Tells whether @module is the name of the file without its folder and ".py". */
static bool is_stem(const char *module, size_t n, const char *file)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	size_t length = strlen(name);

	if (length > 3 && streq(name + length - 3, ".py"))
		length -= 3;
	return n == length && !memcmp(module, name, n);
}

bool totals_is_function(const char *wanted, const char *qualname, const char *file)
{
	size_t n = strlen(wanted), m = strlen(qualname), module;
	const char *dot;

	if (!m || m > n || !streq(wanted + n - m, qualname))
		return false;
	if (m == n)
		return true;
	if (wanted[n - m - 1] != '.')
		return false;
	module = n - m - 1;
	dot = memrchr(wanted, '.', module);
	return is_stem(dot ? dot + 1 : wanted, dot ? (size_t)(wanted + module - dot - 1) : module,
		       file);
}

/* Sets *ret to a copy (heap) of string @number, up to its first NUL. */
static int copy_string(const struct batch *b, uint32_t number, char **ret)
{
	const struct batch_string *s = number ? &b->strings.v[number - 1] : NULL;

	*ret = s && s->n ? strndup(b->text.s + s->at, s->n) : strdup("");
	return *ret ? 0 : err_nomem();
}

static bool is_string(const struct batch *b, uint32_t number, const char *text)
{
	const struct batch_string *s = number ? &b->strings.v[number - 1] : NULL;

	return s && s->n == strlen(text) && !memcmp(b->text.s + s->at, text, s->n);
}

/* The state of adding a batch to the totals: to which totals a sample is added. */
struct adding {
	struct totals *t;
	const struct batch *b;
	/* indexes of the values cpu and off_cpu in the batch; -1: the batch lacks the value */
	int cpu, waiting;
	/*
	 * indexed by a label set's number (0: no labels): 1 + index of its total in .t; 0: not
	 * known yet
	 */
	uint32_t *service;
	/*
	 * indexed by a node's number: a bit for each function of .wanted that is on the node's
	 * stack
	 */
	uint64_t *functions;
	VEC(size_t) wanted; /* for each function: the index of its total in .t */
};

static void adding_fini(struct adding *a)
{
	free(a->service);
	free(a->functions);
	vec_fini(&a->wanted);
}

static int find_value(const struct batch *b, const char *type)
{
	for (uint32_t i = 0; i < b->meta.n_values; i++)
		if (is_string(b, b->meta.values[i].type, type) &&
		    is_string(b, b->meta.values[i].unit, "nanoseconds"))
			return (int)i;
	return -1;
}

static int find_service(struct adding *a, uint32_t number)
{
	const struct batch_set *set = number ? &a->b->sets.v[number - 1] : NULL;
	_cleanup_free_ char *name = NULL;
	uint32_t value = 0;
	struct total *t;

	for (uint32_t i = 0; set && i < set->n; i++)
		if (is_string(a->b, a->b->labels.v[set->at + i].key, "service"))
			value = a->b->labels.v[set->at + i].value;
	if (copy_string(a->b, value, &name))
		return -ENOMEM;
	t = totals_get(a->t, TOTAL_SERVICE, name);
	a->service[number] = t ? (uint32_t)(t - a->t->list.v) + 1 : 0;
	return t ? 0 : -ENOMEM;
}

/* Sets *ret to the functions of .wanted that @location is in, one bit for each. */
static int functions_at(const struct adding *a, uint32_t location, uint64_t *ret)
{
	uint32_t number = a->b->locations.v[location - 1].function;
	_cleanup_free_ char *name = NULL, *file = NULL;
	const struct profile_function *f;

	*ret = 0;
	if (!number)
		return 0;
	f = &a->b->functions.v[number - 1];
	if (copy_string(a->b, f->name, &name) || copy_string(a->b, f->file, &file))
		return -ENOMEM;
	for (size_t i = 0; i < a->wanted.n; i++)
		if (totals_is_function(a->t->list.v[a->wanted.v[i]].name, name, file))
			*ret |= 1ull << i;
	return 0;
}

/*
 * Finds for each node which of the functions in .wanted are on its stack. Parents come before their
 * children.
 */
static int find_functions(struct adding *a)
{
	const struct batch *b = a->b;
	_cleanup_free_ uint64_t *at = calloc(b->locations.n + 1, sizeof(*at));
	int r = at ? 0 : err_nomem();

	for (size_t i = 0; i < a->t->list.n && !r; i++)
		if (a->t->list.v[i].kind == TOTAL_FUNCTION && a->wanted.n < TOTALS_FUNCTIONS)
			r = vec_push(&a->wanted, i) ? err_nomem() : 0;
	for (uint32_t i = 1; !r && a->wanted.n && i <= b->locations.n; i++)
		r = functions_at(a, i, &at[i]);
	for (uint32_t i = 1; !r && a->wanted.n && i <= b->nodes.n; i++) {
		const struct batch_node *n = &b->nodes.v[i - 1];

		a->functions[i] = a->functions[n->parent] | at[n->location];
	}
	return r;
}

static void add(int64_t *to, int64_t v)
{
	if (v > 0)
		*to = add_up_to_max(*to, v);
}

static void add_sample(struct adding *a, size_t at)
{
	const struct batch_sample *s = &a->b->samples.v[at];
	const int64_t *values = a->b->values.v + at * a->b->meta.n_values;
	int64_t cpu = a->cpu < 0 ? 0 : values[a->cpu],
		waiting = a->waiting < 0 ? 0 : values[a->waiting];
	struct total *t = &a->t->list.v[a->service[s->labels] - 1];

	add(&t->cpu_ns, cpu);
	add(&t->waiting_ns, waiting);
	for (uint64_t bits = a->functions[s->node]; bits; bits &= bits - 1) {
		t = &a->t->list.v[a->wanted.v[__builtin_ctzll(bits)]];
		add(&t->cpu_ns, cpu);
		add(&t->waiting_ns, waiting);
	}
}

int totals_add(struct totals *t, const struct batch *b)
{
	_cleanup_(adding_fini) struct adding a = {.t = t, .b = b};
	int r = 0;

	a.service = calloc(b->sets.n + 1, sizeof(*a.service));
	a.functions = calloc(b->nodes.n + 1, sizeof(*a.functions));
	if (!a.service || !a.functions)
		return err_nomem();
	a.cpu = find_value(b, "cpu");
	a.waiting = find_value(b, "off_cpu");
	for (size_t i = 0; !r && i < b->samples.n; i++)
		if (!a.service[b->samples.v[i].labels])
			r = find_service(&a, b->samples.v[i].labels);
	r = r ? r : find_functions(&a);
	for (size_t i = 0; !r && i < b->samples.n; i++)
		add_sample(&a, i);
	return r;
}

void totals_write(const struct totals *t, struct str *ret)
{
	vec_foreach(total, &t->list) {
		str_addf(ret, "%d %lld %lld %zu ", total->kind, (long long)total->cpu_ns,
			 (long long)total->waiting_ns, strlen(total->name));
		str_addf(ret, "%s\n", total->name);
	}
}

static int damaged(void)
{
	return err_set(-EBADMSG, "the sums of services are damaged");
}

/* Reads one total from the text at *at. */
static int read_one(struct totals *t, const char **at)
{
	long long cpu, waiting;
	unsigned kind;
	size_t n;
	int length = 0;
	_cleanup_free_ char *name = NULL;
	struct total *to;

	if (sscanf(*at, "%u %lld %lld %zu%n", &kind, &cpu, &waiting, &n, &length) != 4 || !length ||
	    kind > TOTAL_FUNCTION || cpu < 0 || waiting < 0 || n > 4096)
		return damaged();
	*at += length;
	if (*(*at)++ != ' ' || strnlen(*at, n + 1) <= n || (*at)[n] != '\n')
		return damaged();
	name = strndup(*at, n);
	to = name ? totals_get(t, kind, name) : NULL;
	if (!to)
		return name ? damaged() : err_nomem();
	add(&to->cpu_ns, cpu);
	add(&to->waiting_ns, waiting);
	*at += n + 1;
	return 0;
}

int totals_read(struct totals *t, const char *text)
{
	int r = 0;

	while (!r && *text)
		r = read_one(t, &text);
	return r;
}
