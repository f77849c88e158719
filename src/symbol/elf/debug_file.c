/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the separate debug file of an ELF file, and checks that the two belong together; see
 * debug_file.h.
 */
#include "symbol/elf/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/system/caps.h"
#include "base/error.h"
#include "base/system/far.h"
#include "base/work/worker.h"
#include "proc/files/files.h"
#include "symbol/elf/debuginfod.h"

#define DEBUG_DIR "/usr/lib/debug"
/* the most bytes of .gnu_debuglink: a name, padding and a checksum */
#define LINK_BYTES (NAME_MAX + 1 + 3 + 4)

/*
 * The most bytes, of all files together, over which checksums are computed. A file needs a checksum
 * only if it was found by name. Whoever chose the name may have made a sparse file of 4 GiB.
 */
#define SUM_MAX (2ull << 30)

struct search {
	struct elf_file *f;
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t id_n; /* number of bytes of the build id; 0: the file has none */
	/* the file name that .gnu_debuglink has; "": the file has no .gnu_debuglink */
	char link[NAME_MAX + 1];
	uint32_t link_crc;
	struct str *refused;
};

static bool may_sum(uint64_t bytes)
{
	static _Atomic uint64_t summed;

	if (bytes > SUM_MAX - MIN(summed, SUM_MAX))
		return false;
	summed += bytes;
	return true;
}

static int checksum(int fd, uint32_t *ret)
{
	_cleanup_free_ uint8_t *block = malloc(1 << 18);
	uLong crc = crc32(0, NULL, 0);
	struct stat st;
	off_t at = 0;
	ssize_t n;

	if (!block || fstat(fd, &st) || !may_sum((uint64_t)st.st_size))
		return -EFBIG;
	while ((n = pread(fd, block, 1 << 18, at)) > 0 && at <= st.st_size) {
		crc = crc32(crc, block, (uInt)n);
		at += n;
		if (worker_cancelled())
			return -ECANCELED;
	}
	*ret = (uint32_t)crc;
	return n < 0 ? -errno : 0;
}

/* Returns the reason why the file at @fd doesn't belong to @s->f; NULL: it belongs to @s->f. */
static const char *mismatch(const struct search *s, int fd, const char *path, bool by_link)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	uint8_t id[ELF_BUILD_ID_MAX];
	uint32_t crc = 0;
	size_t n;

	if (elf_file_open(fd, path, &f) < 0)
		return "not an ELF file";
	if (elf_file_machine(f) != elf_file_machine(s->f))
		return "of another architecture";
	n = elf_file_build_id(f, id);
	if ((n || !by_link) && (n != s->id_n || memcmp(id, s->id, n) != 0))
		return "another build id";
	if (!by_link)
		return NULL;
	if (checksum(fd, &crc) < 0)
		return "too large for its checksum to be computed";
	return crc != s->link_crc ? "its checksum isn't the one in .gnu_debuglink" : NULL;
}

/*
 * Takes over @fd, which was opened at @path. Returns @fd if its file is the debug file that is
 * searched for; else closes @fd and returns -ENOENT.
 */
static int accept(struct search *s, int fd, const char *path, bool by_link)
{
	_cleanup_close_ int file = fd;
	const char *why = file < 0 ? NULL : mismatch(s, file, path, by_link);

	if (file >= 0 && !why)
		return TAKE_FD(file);
	if (why)
		str_addf(s->refused, "%s%s: %s", s->refused->n ? "; " : "", path, why);
	return -ENOENT;
}

static int try_path(struct search *s, int root, const char *path, bool by_link)
{
	uint64_t caps = caps_raise(CAPS_READ);
	int fd = file_open_below(root, path);

	caps_restore(caps);
	return accept(s, fd, path, by_link);
}

static int try_build_id(struct search *s, int root)
{
	char path[sizeof(DEBUG_DIR) + 2 * ELF_BUILD_ID_MAX + 32];
	size_t n;

	if (s->id_n < 2)
		return -ENOENT;
	n = (size_t)snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/%02x/", s->id[0]);
	for (size_t i = 1; i < s->id_n; i++)
		n += (size_t)snprintf(path + n, sizeof(path) - n, "%02x", s->id[i]);
	snprintf(path + n, sizeof(path) - n, ".debug");
	return try_path(s, root, path, false);
}

/*
 * Looks for the file that .gnu_debuglink names, in gdb's order: in the directory @dir of the ELF
 * file and in the directory .debug there (both only with @beside), then in the directory for debug
 * files.
 */
static int try_link(struct search *s, int root, const char *dir, bool beside)
{
	static const char *const forms[] = {"%s/%s", "%s/.debug/%s", DEBUG_DIR "%s/%s"};
	char path[PATH_MAX];
	int fd = -ENOENT;

	for (size_t i = beside ? 0 : 2; s->link[0] && fd < 0 && i < ARRAY_SIZE(forms); i++) {
		int n = snprintf(path, sizeof(path), forms[i], dir, s->link);

		if (n > 0 && (size_t)n < sizeof(path))
			fd = try_path(s, root, path, true);
	}
	return fd;
}

/*
 * Reads .gnu_debuglink, which has a file name without a directory, zeros up to a multiple of four,
 * and a CRC-32.
 */
static void read_link(struct search *s, int fd)
{
	char bytes[LINK_BYTES];
	struct elf_section section;
	size_t n;

	if (!elf_file_section(s->f, ".gnu_debuglink", &section) || section.nobits ||
	    section.size > sizeof(bytes) ||
	    far_pread(fd, bytes, section.size, (off_t)section.offset) != (ssize_t)section.size)
		return;
	n = strnlen(bytes, section.size);
	if (n > NAME_MAX || (n + 4) / 4 * 4 + 4 > section.size || memchr(bytes, '/', n))
		return;
	memcpy(s->link, bytes, n + 1);
	memcpy(&s->link_crc, bytes + (n + 4) / 4 * 4, sizeof(s->link_crc));
}

static bool same_directory(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int debug_file_find_id(struct elf_file *f, const uint8_t *id, size_t n, int root,
		       struct str *refused)
{
	_cleanup_close_ int own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct search s = {.f = f, .id_n = MIN(n, (size_t)ELF_BUILD_ID_MAX), .refused = refused};
	int r = -ENOENT;

	memcpy(s.id, id, s.id_n);
	if (root >= 0)
		r = try_build_id(&s, root);
	if (r < 0 && own >= 0)
		r = try_build_id(&s, own);
	return r;
}

int debug_file_find(struct elf_file *f, int fd, const char *path, int root, struct str *refused)
{
	_cleanup_close_ int own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct search s = {.f = f, .refused = refused};
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = strndup(path, slash ? (size_t)(slash - path) : 0);
	int r = -ENOENT;

	if (!dir)
		return -ENOENT;
	s.id_n = elf_file_build_id(f, s.id);
	read_link(&s, fd);
	if (root >= 0)
		r = try_build_id(&s, root);
	if (r < 0 && root >= 0)
		r = try_link(&s, root, dir, true);
	if (r < 0 && own >= 0 && !same_directory(root, own))
		r = try_build_id(&s, own);
	if (r < 0 && own >= 0 && !same_directory(root, own))
		r = try_link(&s, own, dir, false);
	if (r < 0 && s.id_n)
		r = accept(&s, debuginfod_fetch(s.id, s.id_n), "debuginfod", false);
	return r;
}
