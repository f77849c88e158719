/* SPDX-License-Identifier: BSD-2-Clause */
/* The packages that a process was told to run: "shop" of `gunicorn shop.wsgi`, `celery -A shop worker`. */
#ifndef PROC_ENTRY_H
#define PROC_ENTRY_H

#include "base/str.h"

/* Could the command line of a process of that name (proc_name_from()) say it? Others' needn't be read. */
bool proc_entry_is_told(const char *name);

/*
 * Append their names, each once, a blank between them; nothing where they aren't known. @cmdline: the arguments,
 * NUL-separated; @environment: NUL-separated too, of which DJANGO_SETTINGS_MODULE and FLASK_APP count. Both may be cut.
 */
void proc_entry_from(const char *name, const char *cmdline, size_t n, struct str *ret);
void proc_entry_from_environment(const char *name, const char *environment, size_t n,
				 struct str *ret);

/*
 * The argument that is Django's manage.py, which sets DJANGO_SETTINGS_MODULE itself; NULL: it is none. @cmdline has a
 * NUL behind its @n bytes.
 */
const char *proc_entry_script(const char *name, const char *cmdline, size_t n);

/* What the text of such a script says, as above. It may be anything. */
void proc_entry_from_script(const char *text, struct str *ret);

#endif
