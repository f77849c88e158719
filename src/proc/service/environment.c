/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the environment variables that name a service; see environment.h. */
#include "proc/service/environment.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text/str.h"
#include "proc/read/aside.h"

#define ENVIRONMENT_BYTES (256u << 10)

static void keep(char **to, const char *s, size_t n)
{
	if (n && !*to)
		*to = strndup(s, n);
}

/* Keeps a copy of the value, with a comma in place of each %2C (W3C Baggage). */
static void keep_decoded(char **to, const char *s, size_t n)
{
	_cleanup_str_ struct str value = {};

	for (size_t i = 0; i < n; i++) {
		bool coded = s[i] == '%' && i + 2 < n && hex_digit(s[i + 1]) >= 0 &&
			     hex_digit(s[i + 2]) >= 0;
		char c = coded ? (char)(hex_digit(s[i + 1]) << 4 | hex_digit(s[i + 2])) : s[i];

		str_add_c(&value, c ?: '?');
		i += coded ? 2 : 0;
	}
	keep(to, str_cstr(&value), value.n);
}

static void trim(const char **s, size_t *n)
{
	while (*n && isspace((unsigned char)**s)) {
		++*s;
		--*n;
	}
	while (*n && isspace((unsigned char)(*s)[*n - 1]))
		--*n;
}

struct attributes {
	char *name, *version;
};

/* Takes one "key=value" from OTEL_RESOURCE_ATTRIBUTES. */
static void take_attribute(const char *s, size_t n, struct attributes *ret)
{
	const char *equals = memchr(s, '=', n), *value = equals ? equals + 1 : NULL;
	size_t key_n = equals ? (size_t)(equals - s) : 0, value_n = n - key_n - 1;

	if (!equals)
		return;
	trim(&s, &key_n);
	trim(&value, &value_n);
	if (key_n == 12 && !memcmp(s, "service.name", 12))
		keep_decoded(&ret->name, value, value_n);
	else if (key_n == 15 && !memcmp(s, "service.version", 15))
		keep_decoded(&ret->version, value, value_n);
}

static void take_attributes(const char *s, struct attributes *ret)
{
	while (*s) {
		size_t n = strcspn(s, ",");

		take_attribute(s, n, ret);
		s += n + (s[n] == ',');
	}
}

static const char *value_of(const char *variable, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(variable, name, n) && variable[n] == '=' ? variable + n + 1 : NULL;
}

static void take_variable(const char *s, struct service_variables *ret, struct attributes *more)
{
	const char *value;

	if ((value = value_of(s, "OTEL_SERVICE_NAME")))
		keep(&ret->otel_name, value, strlen(value));
	else if ((value = value_of(s, "OTEL_RESOURCE_ATTRIBUTES")))
		take_attributes(value, more);
	else if ((value = value_of(s, "DD_SERVICE")))
		keep(&ret->dd_name, value, strlen(value));
	else if ((value = value_of(s, "DD_VERSION")))
		keep(&ret->dd_version, value, strlen(value));
}

void service_variables_from(const char *environment, size_t n, struct service_variables *ret)
{
	_cleanup_str_ struct str copy = {};
	struct attributes more = {};

	*ret = (struct service_variables){};
	str_add_n(&copy, environment, n);
	if (copy.failed)
		return;
	for (size_t at = 0; at < n; at += strlen(str_cstr(&copy) + at) + 1)
		take_variable(str_cstr(&copy) + at, ret, &more);
	ret->otel_version = more.version;
	if (ret->otel_name)
		free(more.name);
	else
		ret->otel_name = more.name;
}

void service_variables_read(int procdir, struct service_variables *ret)
{
	_cleanup_str_ struct str text = {};

	*ret = (struct service_variables){};
	if (!aside_read(procdir, "environ", ENVIRONMENT_BYTES, &text))
		service_variables_from(str_cstr(&text), text.n, ret);
}

void service_variables_fini(struct service_variables *v)
{
	free(v->otel_name);
	free(v->otel_version);
	free(v->dd_name);
	free(v->dd_version);
	*v = (struct service_variables){};
}
