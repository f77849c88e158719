/* SPDX-License-Identifier: BSD-2-Clause */
/* What krait knows of its own process and program; see self.h. */
#include "base/system/self.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/text/str.h"
#include "base/util.h"

/* Folders of sudo's secure_path in the order of Debian, Ubuntu and Fedora. */
static const char *const sudo_path[] = {
	"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
};

static struct str name;

/* Finds the file that `sudo krait` would run. False: sudo finds no such file. */
static bool sudo_finds(struct stat *ret)
{
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(sudo_path); i++) {
		snprintf(path, sizeof(path), "%s/krait", sudo_path[i]);
		if (!stat(path, ret) && S_ISREG(ret->st_mode) && ret->st_mode & 0111)
			return true;
	}
	return false;
}

static void find_name(void)
{
	_cleanup_free_ char *path = realpath("/proc/self/exe", NULL);
	struct stat own, found;

	/*
	 * If krait's own file was replaced, its path isn't known. Then the name `krait` without a
	 * path is the best answer.
	 */
	if (!path || stat(path, &own) ||
	    (sudo_finds(&found) && found.st_dev == own.st_dev && found.st_ino == own.st_ino))
		str_add(&name, "krait");
	else
		str_add_shell_word(&name, path);
}

pid_t self_pid(void)
{
	static _Atomic pid_t pid;

	if (!pid)
		pid = getpid();
	return pid;
}

const char *self_under_sudo(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_name);
	return name.n ? str_cstr(&name) : "krait";
}
