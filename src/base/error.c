/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread-local error message; see error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[1024];

static void set(const char *fmt, va_list ap, const char *tail)
{
	char text[sizeof(message)];
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	if (tail && n >= 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - n, ": %s", tail);
	memcpy(message, text, sizeof(message));
}

int err_set(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(fmt, ap, NULL);
	va_end(ap);
	return code;
}

int err_sys(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(fmt, ap, strerror(-code));
	va_end(ap);
	return code;
}

int err_wrap(int code, const char *fmt, ...)
{
	char old[sizeof(message)];
	va_list ap;

	memcpy(old, message, sizeof(old));
	va_start(ap, fmt);
	set(fmt, ap, old);
	va_end(ap);
	return code;
}

const char *err_msg(void)
{
	return message;
}
