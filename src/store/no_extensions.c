/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prevents a database from making SQLite load an extension, which is a shared library. A statically
 * linked krait doesn't even contain the code for loading: the linker (--wrap) replaces the C
 * library's functions dlopen(), dlsym() and so on with the functions below, which always fail.
 */
#include "store/internal.h"

void store_refuse_extensions(struct store *s)
{
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
}

#ifdef KRAIT_STATIC
void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *library, const char *name);
int __wrap_dlclose(void *library);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

void *__wrap_dlsym(void *library, const char *name)
{
	(void)library;
	(void)name;
	return NULL;
}

int __wrap_dlclose(void *library)
{
	(void)library;
	return -1;
}

char *__wrap_dlerror(void)
{
	static char text[] = "this krait is statically linked and can't load shared libraries";

	return text;
}
#endif
