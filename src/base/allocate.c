/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrappers of the C library's allocators. The linker makes all of krait call them (--wrap in the
 * Makefile). An allocation that fails sets the message "out of memory" before any caller returns
 * -ENOMEM, so that no earlier error's message is shown in its place. A caller that has more to say
 * sets another message. The wrappers are in a file of their own, because programs that are linked
 * without --wrap don't need it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/nomem.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_vasprintf(char **ret, const char *fmt, va_list ap);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
int __wrap___vasprintf_chk(char **ret, int flag, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
int __wrap_asprintf(char **ret, const char *fmt, ...) _printf_(2, 3);
int __wrap___asprintf_chk(char **ret, int flag, const char *fmt, ...) _printf_(3, 4);

/*
 * Called only if an allocation has failed. This function touches thread-local data, which can't be
 * touched yet while the program starts. But the wrappers run then too, so this function is never
 * inlined into them.
 */
static __attribute__((noinline, cold)) void failed(void)
{
	(void)err_nomem();
}

void *__wrap_malloc(size_t n)
{
	void *p = __real_malloc(n);

	if (!p && n)
		failed();
	return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
	void *p = __real_calloc(n, size);

	if (!p && n && size)
		failed();
	return p;
}

void *__wrap_realloc(void *p, size_t n)
{
	void *grown = __real_realloc(p, n);

	if (!grown && n)
		failed();
	return grown;
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	void *grown = __real_reallocarray(p, n, size);

	if (!grown && n && size)
		failed();
	return grown;
}

char *__wrap_strdup(const char *s)
{
	char *copy = __real_strdup(s);

	if (!copy)
		failed();
	return copy;
}

char *__wrap_strndup(const char *s, size_t n)
{
	char *copy = __real_strndup(s, n);

	if (!copy)
		failed();
	return copy;
}

/* vasprintf() fails only for lack of memory, because all format strings of krait are valid. */
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
	int n = __real_vasprintf(ret, fmt, ap);

	if (n < 0)
		failed();
	return n;
}

int __wrap_asprintf(char **ret, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = __wrap_vasprintf(ret, fmt, ap);
	va_end(ap);
	return n;
}

/*
 * With _FORTIFY_SOURCE the compiler calls __vasprintf_chk() and __asprintf_chk() instead of
 * vasprintf() and asprintf(). @flag concerns %n, which krait doesn't use.
 */
int __wrap___vasprintf_chk(char **ret, int flag, const char *fmt, va_list ap)
{
	return __wrap_vasprintf(ret, fmt, ap);
}

int __wrap___asprintf_chk(char **ret, int flag, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = __wrap_vasprintf(ret, fmt, ap);
	va_end(ap);
	return n;
}
