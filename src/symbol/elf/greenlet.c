/* SPDX-License-Identifier: BSD-2-Clause */
/* Recognizes the functions of greenlet; see greenlet.h. */
#include <string.h>

#include "symbol/elf/greenlet.h"

static bool is_greenlet(const char *path)
{
	const char *file = path_base(path);

	return str_starts(file, "_greenlet.") || str_starts(file, "greenlet.");
}

bool greenlet_is_start(const char *path, const char *name)
{
	return name && is_greenlet(path) && strstr(name, "g_initialstub");
}

bool greenlet_is_switch(const char *path, const char *name)
{
	return name && is_greenlet(path) &&
	       (strstr(name, "g_switchstack") || str_starts(name, "slp_"));
}

bool greenlet_is_exposing(const char *path, const char *name)
{
	return is_greenlet(path) && (!name || strstr(name, "expose_frames"));
}
