/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the state of threads with a BPF task iterator; see tasks.h. */
#include "sampler/tasks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "sampler/internal.h"
#include "sampler/kernel_types.h"
#include "tasks.skel.h"

#define STREAM_BYTES (256u << 10)

struct tasks {
	struct tasks_bpf *skel;
	struct bpf_link *link;
};

static struct tasks_bpf *open_program(struct kernel_types *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	size_t n;

	opts.btf_custom_path = kernel_types_open(types, tasks_bpf__elf_bytes(&n));
	return tasks_bpf__open_opts(&opts);
}

int tasks_open(struct tasks **ret)
{
	_cleanup_(kernel_types_close) struct kernel_types types = {.fd = -1};
	struct tasks *t = calloc(1, sizeof(*t));
	int r = 0;

	libbpf_set_print(sampler_log_libbpf);
	if (t)
		t->skel = open_program(&types);
	if (!t || !t->skel) {
		free(t);
		return err_sys(-ENOMEM, "can't prepare the program that reads threads");
	}
	t->skel->rodata->pidns_inum = sampler_pidns();
	r = tasks_bpf__load(t->skel);
	if (!r) {
		t->link = bpf_program__attach_iter(t->skel->progs.on_task, NULL);
		r = t->link ? 0 : -errno;
	}
	if (r) {
		tasks_close(t);
		return err_sys(r, "the kernel refused the program that reads threads");
	}
	*ret = t;
	return 0;
}

void tasks_close(struct tasks *t)
{
	if (!t)
		return;
	bpf_link__destroy(t->link);
	tasks_bpf__destroy(t->skel);
	free(t);
}

int tasks_want(struct tasks *t, pid_t tgid, bool want)
{
	int map = bpf_map__fd(t->skel->maps.wanted);
	uint32_t key = (uint32_t)tgid, one = 1;

	if (!want)
		bpf_map_delete_elem(map, &key);
	else if (bpf_map_update_elem(map, &key, &one, BPF_ANY))
		return err_sys(-errno, "can't read the threads of that many processes at once");
	return 0;
}

void tasks_add_polled(struct tasks *t, const struct rec_task *rec, int fd)
{
	const struct task_polled one = {.switches = rec->switches, .fd = fd};

	/*
	 * if the map has no room for the descriptor, krait doesn't find out what the thread waits
	 * for
	 */
	(void)!bpf_map_update_elem(bpf_map__fd(t->skel->maps.polled), &rec->host_tid, &one,
				   BPF_ANY);
}

void tasks_forget_polled(struct tasks *t)
{
	int map = bpf_map__fd(t->skel->maps.polled);
	uint32_t tid;

	for (int i = 0; i < TASK_MAX_POLLED && !bpf_map_get_next_key(map, NULL, &tid); i++)
		bpf_map_delete_elem(map, &tid);
}

/* Calls @fn for each complete record in @buf. Returns how many bytes of @buf these records have. */
static size_t take(const uint8_t *buf, size_t n, void (*fn)(void *ctx, const struct rec_task *rec),
		   void *ctx)
{
	const size_t head = offsetof(struct rec_task, kernel);
	struct rec_task rec;
	size_t at = 0, size;

	for (; n - at >= head; at += size) {
		memcpy(&rec, buf + at, head);
		size = head + rec.n_kernel * sizeof(rec.kernel[0]);
		if (rec.n_kernel > ABI_MAX_KERNEL || n - at < size)
			break;
		memcpy(rec.kernel, buf + at + head, size - head);
		fn(ctx, &rec);
	}
	return at;
}

int tasks_read(struct tasks *t, void (*fn)(void *ctx, const struct rec_task *rec), void *ctx)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(t->link));
	_cleanup_free_ uint8_t *buf = malloc(STREAM_BYTES);
	size_t n = 0, used;
	ssize_t got;

	if (fd < 0 || !buf)
		return err_sys(fd < 0 ? fd : -ENOMEM, "can't read the state of the threads");
	while ((got = read(fd, buf + n, STREAM_BYTES - n)) > 0) {
		n += (size_t)got;
		used = take(buf, n, fn, ctx);
		n -= used;
		memmove(buf, buf + used, n);
	}
	return got < 0 ? err_sys(-errno, "can't read the state of the threads") : 0;
}
