/* SPDX-License-Identifier: BSD-2-Clause */
/* A byte string that grows; see str.h. */
#include "base/text/str.h"

#include <stdarg.h>

#include "base/nomem.h"

void str_fini(struct str *b)
{
	free(b->s);
	*b = (struct str){};
}

void str_clear(struct str *b)
{
	b->n = 0;
	b->failed = false;
	if (b->s)
		b->s[0] = '\0';
}

static bool reserve(struct str *b, size_t more)
{
	size_t need = b->n + more + 1, cap = b->cap ? b->cap : 64;
	char *p;

	if (b->failed || need < more) {
		b->failed = true;
		return false;
	}
	if (need <= b->cap)
		return true;
	while (cap < need)
		cap += cap / 2;
	p = realloc(b->s, cap);
	if (!p) {
		b->failed = true;
		(void)err_nomem();
		return false;
	}
	b->s = p;
	b->cap = cap;
	return true;
}

void str_shrink(struct str *b)
{
	char *p = b->s ? realloc(b->s, b->n + 1) : NULL;

	if (!p)
		return;
	b->s = p;
	b->cap = b->n + 1;
}

void str_add_n(struct str *b, const void *s, size_t n)
{
	if (!reserve(b, n))
		return;
	if (n)
		memcpy(b->s + b->n, s, n);
	b->n += n;
	b->s[b->n] = '\0';
}

void str_add(struct str *b, const char *s)
{
	str_add_n(b, s, strlen(s));
}

void str_add_c(struct str *b, char c)
{
	str_add_n(b, &c, 1);
}

void str_addf(struct str *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(b, n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += n;
}

void str_add_shell_word(struct str *b, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./+-:@%,=";

	if (*s && !s[strspn(s, plain)]) {
		str_add(b, s);
		return;
	}
	str_add_c(b, '\'');
	for (; *s; s++)
		if (*s == '\'')
			str_add(b, "'\\''");
		else
			str_add_c(b, *s);
	str_add_c(b, '\'');
}

const char *str_cstr(const struct str *b)
{
	return b->s ? b->s : "";
}

char *str_take(struct str *b)
{
	char *s;

	str_add_n(b, "", 0);
	if (b->failed) {
		str_fini(b);
		return NULL;
	}
	s = TAKE_PTR(b->s);
	*b = (struct str){};
	return s;
}
