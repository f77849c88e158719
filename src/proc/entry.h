/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packages that a command line tells a server to run: "shop" of `gunicorn shop.wsgi` or `celery
 * -A shop worker`.
 */
#ifndef PROC_ENTRY_H
#define PROC_ENTRY_H

#include "base/text/str.h"

/*
 * Does a program called @name (proc_name_from()) take a package on its command line? If not, its
 * command line needn't be read.
 */
bool proc_entry_is_told(const char *name);

/*
 * These functions append the names of the packages that the server @name was told to run, each
 * once, with spaces between them; nothing if no name is found. @cmdline: the arguments,
 * NUL-separated. @environment: the environment variables, also NUL-separated; only
 * DJANGO_SETTINGS_MODULE and FLASK_APP are used. Both texts may be cut off.
 */
void proc_entry_from(const char *name, const char *cmdline, size_t n, struct str *ret);
void proc_entry_from_environment(const char *name, const char *environment, size_t n,
				 struct str *ret);

/*
 * Returns the argument in @cmdline that is the path of a Django project's manage.py, which sets
 * DJANGO_SETTINGS_MODULE itself. NULL: there is no such argument. @cmdline has a NUL after its @n
 * bytes.
 */
const char *proc_entry_script(const char *name, const char *cmdline, size_t n);

/* Appends the package that the @text of a manage.py names. The text may hold anything. */
void proc_entry_from_script(const char *text, struct str *ret);

#endif
