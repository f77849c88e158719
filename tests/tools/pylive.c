/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pylive PID: uses the results of py_image_read() on a live process, independently of krait's
 * walkers. Finds each thread's PyThreadState from its thread pointer (ptrace), checks it by the
 * thread ids stored in it, and prints "TID name name ..." with the innermost function first. Works
 * on x86-64 with glibc. Exit code: 0 if every thread's state was right, 1 if not, 2 on errors.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include "base/error.h"
#include "python/find/image_internal.h"

struct target {
	pid_t pid;
	struct py_image image;
	uint64_t bias;
};

static bool peek(const struct target *t, uint64_t addr, void *buf, size_t n)
{
	struct iovec local = {buf, n}, remote = {(void *)(uintptr_t)addr, n};

	return process_vm_readv(t->pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

static uint64_t peek64(const struct target *t, uint64_t addr)
{
	uint64_t v = 0;

	return peek(t, addr, &v, sizeof(v)) ? v : 0;
}

/* Finds the load bias of the file from one of its mappings. */
static bool find_bias(struct target *t, struct elf_file *elf, uint64_t start, uint64_t offset)
{
	const struct elf_load *loads;
	size_t n = elf_file_loads(elf, &loads);

	for (size_t i = 0; i < n; i++) {
		if ((loads[i].offset & ~0xfffull) == offset) {
			t->bias = start - (loads[i].vaddr & ~0xfffull);
			return true;
		}
	}
	return false;
}

static bool try_file(struct target *t, const char *path, uint64_t start, uint64_t offset)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_elf_ struct elf_file *elf = NULL;

	if (fd < 0 || py_image_read(fd, path, &t->image) != 1 || t->image.unsupported[0])
		return false;
	return elf_file_open(fd, path, &elf) == 0 && find_bias(t, elf, start, offset);
}

static bool find_image(struct target *t)
{
	_cleanup_fclose_ FILE *f = NULL;
	char line[PATH_MAX + 200], path[PATH_MAX], full[PATH_MAX + 40], last[PATH_MAX] = "";
	unsigned long start, end, offset;

	snprintf(full, sizeof(full), "/proc/%d/maps", t->pid);
	f = fopen(full, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095[^\n]", &start, &end, &offset,
			   path) != 4 ||
		    path[0] != '/' || streq(path, last))
			continue;
		strcpy(last, path);
		snprintf(full, sizeof(full), "/proc/%d/map_files/%lx-%lx", t->pid, start, end);
		if (try_file(t, full, start, offset))
			return true;
	}
	return false;
}

static uint64_t by_key(const struct target *t, uint64_t tp)
{
	uint32_t key = 0;
	uint64_t block;

	if (!peek(t, t->image.where.tss_key + t->bias, &key, sizeof(key)))
		return 0;
	block = peek64(t, tp + 0x510 + 8 * (key / 32));
	return block ? peek64(t, block + 16 * (key % 32) + 8) : 0;
}

static uint64_t by_pair(const struct target *t, uint64_t tp, uint64_t pair)
{
	uint64_t module = peek64(t, pair), block = peek64(t, peek64(t, tp + 8) + 16 * module);

	return peek64(t, block + peek64(t, pair + 8) + (uint64_t)t->image.where.tls_offset);
}

/*
 * Finds a thread's state in the interpreter's list, by the thread id. Needed for 2.7, where no
 * thread-local key leads to it.
 */
static uint64_t by_list(const struct target *t, uint64_t tp)
{
	const struct py_layout *l = &t->image.layout;
	uint64_t interp = peek64(t, t->image.where.interp_head + t->bias);

	for (; interp; interp = peek64(t, interp + l->interp_next)) {
		uint64_t ts = peek64(t, interp + l->interp_tstate_head);

		for (; ts; ts = peek64(t, ts + l->tstate_next)) {
			if (peek64(t, ts + l->tstate_thread_id) == tp)
				return ts;
		}
	}
	return 0;
}

static uint64_t find_tstate(const struct target *t, uint64_t tp)
{
	const struct py_where *w = &t->image.where;
	int64_t word;

	if (w->tss == PY_TSS_KEY_GLIBC)
		return by_key(t, tp);
	if (w->tss == PY_TSS_TLS_STATIC)
		return peek64(t, tp + (uint64_t)w->tls_offset);
	if (w->tss == PY_TSS_TLS_DTV)
		return by_pair(t, tp, w->tls_got + t->bias);
	if (w->tss != PY_TSS_TLS_WORD)
		return by_list(t, tp);
	word = (int64_t)peek64(t, w->tls_got + t->bias);
	return word < 1ll << 31 ? peek64(t, tp + (uint64_t)(word + w->tls_offset))
				: by_pair(t, tp, (uint64_t)word);
}

static void print_name(const struct target *t, uint64_t code)
{
	const struct py_layout *l = &t->image.layout;
	uint64_t s = peek64(t, code + l->code_name), n = peek64(t, s + l->str_length);
	char buf[64] = "";

	n = MIN(n, sizeof(buf) - 1);
	if (peek64(t, code + l->ob_type) != t->image.code_type + t->bias)
		printf(" !");
	else if (peek(t, s + l->str_ascii, buf, n))
		printf(" %s", buf);
}

static void print_frames(const struct target *t, uint64_t ts)
{
	const struct py_layout *l = &t->image.layout;
	uint64_t frame = peek64(t, ts + l->tstate_frame);

	if (l->walk == PY_WALK_CFRAME)
		frame = peek64(t, frame + l->cframe_current_frame);
	for (int i = 0; frame && i < 100; i++, frame = peek64(t, frame + l->frame_back)) {
		uint8_t owner = 0;

		if (l->version >= 0x030c)
			peek(t, frame + l->frame_owner, &owner, 1);
		if (owner < 3)
			print_name(t, peek64(t, frame + l->frame_code) & ~7ull);
	}
	printf("\n");
}

static bool check_thread(const struct target *t, pid_t tid)
{
	struct user_regs_struct regs;
	const struct py_layout *l = &t->image.layout;
	uint64_t ts, native;
	bool ok;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) || ptrace(PTRACE_INTERRUPT, tid, 0, 0) ||
	    waitpid(tid, NULL, __WALL) < 0 || ptrace(PTRACE_GETREGS, tid, 0, &regs)) {
		perror("ptrace");
		return false;
	}
	ts = find_tstate(t, regs.fs_base);
	native = l->tstate_native_thread_id ? peek64(t, ts + l->tstate_native_thread_id) : 0;
	ok = ts && peek64(t, ts + l->tstate_thread_id) == regs.fs_base;
	/*
	 * In a PID namespace, native_thread_id may be another number, so it is printed but not
	 * compared.
	 */
	printf("%d %s%s:", tid, ok ? "right" : "WRONG",
	       native && native != (uint64_t)tid ? " (other native id)" : "");
	print_frames(t, ts);
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return ok;
}

int main(int argc, char **argv)
{
	struct target t = {.pid = argc > 1 ? atoi(argv[1]) : 0};
	_cleanup_closedir_ DIR *d = NULL;
	char path[64];
	int rc = 0;

	if (!t.pid || !find_image(&t)) {
		fprintf(stderr, "no interpreter in %d: %s\n", t.pid, t.image.unsupported);
		return 2;
	}
	printf("version %08x tss %u\n", t.image.hex_version, t.image.where.tss);
	snprintf(path, sizeof(path), "/proc/%d/task", t.pid);
	d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] != '.' && !check_thread(&t, atoi(e->d_name)))
			rc = 1;
	}
	return rc;
}
