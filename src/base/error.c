/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the error message of each thread; see error.h. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/nomem.h"

/* CHECKED is defined in builds with AddressSanitizer; the tests run such builds. */
#if defined(__SANITIZE_ADDRESS__)
#define CHECKED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECKED
#endif
#endif

static _Thread_local char message[1024];
/*
 * the arguments of the last call of err_of(); .what is NULL if another function has set the message
 * since then
 */
static _Thread_local struct {
	const char *what;
	char which[256];
} last;
static _Thread_local bool memory_failed;

static void set(int code, const char *fmt, va_list ap, const char *tail)
{
	char text[sizeof(message)];
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	if (tail && n >= 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - n, ": %s", tail);
	memcpy(message, text, sizeof(message));
	memory_failed |= code == -ENOMEM;
}

static void forget_about(void)
{
	last.what = NULL;
}

int err_set(int code, const char *fmt, ...)
{
	va_list ap;

	forget_about();
	va_start(ap, fmt);
	set(code, fmt, ap, NULL);
	va_end(ap);
	return code;
}

int err_of(const char *what, const char *which, int code, const char *fmt, ...)
{
	va_list ap;

	last.what = what;
	snprintf(last.which, sizeof(last.which), "%s", which ? which : "");
	va_start(ap, fmt);
	set(code, fmt, ap, NULL);
	va_end(ap);
	return code;
}

const char *err_subject(const char **which)
{
	*which = last.which;
	return last.what;
}

/*
 * Returns the system's words for the error @code. If a single command removes the cause, the words
 * name that command.
 */
static const char *words_of(int code)
{
	return code == -EMFILE ? "too many open files; raise the limit with `ulimit -n 65536`"
			       : strerror(-code);
}

int err_sys(int code, const char *fmt, ...)
{
	va_list ap;

	forget_about();
	va_start(ap, fmt);
	set(code, fmt, ap, words_of(code));
	va_end(ap);
	return code;
}

int err_wrap(int code, const char *fmt, ...)
{
	char old[sizeof(message)];
	va_list ap;

	memcpy(old, message, sizeof(old));
	va_start(ap, fmt);
	set(code, fmt, ap, old);
	va_end(ap);
	return code;
}

int err_nomem(void)
{
	return err_set(-ENOMEM, "out of memory");
}

void err_memory_begin(void)
{
	memory_failed = false;
}

bool err_memory_failed(void)
{
	return memory_failed;
}

const char *err_msg(void)
{
#ifdef CHECKED
	if (!message[0]) {
		fputs("err_msg(): what failed has set no message\n", stderr);
		abort();
	}
#endif
	return message[0] ? message : "unknown error: krait has set no message";
}

const char *err_about(const char *msg, const char *subject)
{
	size_t n = strlen(subject);

	return !strncmp(msg, subject, n) && !strncmp(msg + n, ": ", 2) ? msg + n + 2 : msg;
}
