/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests wrong debug offsets. In a copy of each installed interpreter's file (3.13 and later), each
 * member of _Py_DebugOffsets is changed, while the process stays as it is. krait must refuse the
 * copy and name a member, or find the right stacks, because no walk uses the changed member.
 */
#include "walk_live.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "../../unit/debug_offsets.h"
#include "python/layout/tables.h"

/* index of the first member to change, after the cookie and the version */
#define FIRST_MEMBER 2

static struct moved {
	int fd;		/* the copy */
	uint64_t at;	/* offset of _Py_DebugOffsets in the copy */
	uint64_t tp[2]; /* thread pointers of the two threads of the process */
	unsigned refused, right, bad;
} moved;

/* Copies the file, and finds the debug offsets in it: the cookie, followed by a version of 3.x. */
static void copy_file(int fd)
{
	struct stat st;
	uint8_t *p;

	assert_int_equal(fstat(fd, &st), 0);
	moved.fd = memfd_create("copy", MFD_CLOEXEC);
	assert_int_equal(ftruncate(moved.fd, st.st_size), 0);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, moved.fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	for (off_t n = 0; n < st.st_size;) {
		ssize_t r = pread(fd, p + n, (size_t)(st.st_size - n), n);

		assert_true(r > 0);
		n += r;
	}
	for (uint8_t *c = p; (c = memmem(c, (size_t)(p + st.st_size - c), PY_COOKIE, 8)); c += 8)
		if (c + 16 < p + st.st_size && c[11] == 3 && !c[12])
			moved.at = (uint64_t)(c - p);
	munmap(p, (size_t)st.st_size);
	assert_true(moved.at);
}

/* Returns the number of members that the debug offsets of this interpreter have. */
static size_t members(void)
{
	return host.layout.version >= 0x30f   ? ARRAY_SIZE(debug_offsets_3_15)
	       : host.layout.version == 0x30e ? ARRAY_SIZE(debug_offsets_3_14)
					      : ARRAY_SIZE(debug_offsets_3_13);
}

/*
 * Tells whether the stack walk finds that the thread has released the GIL. Both threads are in
 * read() without the GIL, so any other answer is wrong.
 */
static bool is_released(void)
{
	const struct futex_call none = {.op = -1};
	uint8_t got = gil_of(host.w, &host.layout, &none);

	return got == GIL_UNKNOWN || got == GIL_RELEASED || got == GIL_NONE;
}

/*
 * Walks the stacks of both threads with the layout of the changed copy. Returns whether any stack
 * is wrong.
 */
static bool walks_wrong(const struct py_image *image, enum walk_outcome *outcome)
{
	const struct truth *truth[] = {&target.main, &target.thread};
	struct py_where was = target.where;
	bool wrong = false;
	size_t n;

	host_set_layout(&image->layout);
	target.where.interp_head += image->where.interp_head - target.file.interp_head;
	target.where.finalizing += image->where.finalizing - target.file.finalizing;
	target.where.gil = image->where.gil;
	for (size_t i = 0; i < 2; i++) {
		enum walk_outcome r;

		host_forget_sent();
		memset(host.w->proofs, 0, sizeof(host.w->proofs));
		r = host_walk(&target.where, moved.tp[i]);
		send_stack(host.w);
		*outcome = r != WALK_OK ? r : *outcome;
		wrong |= !is_released();
		wrong |= !is_part_of(truth[i], &n) || (r == WALK_OK && n != truth[i]->n);
	}
	target.where = was;
	return wrong;
}

/* Changes member @i by @delta, and judges what krait makes of it. */
static void move(size_t i, int delta)
{
	enum walk_outcome outcome = WALK_OK;
	struct py_image image;
	uint64_t was, now;
	off_t at = (off_t)(moved.at + 8 * i);

	assert_int_equal(pread(moved.fd, &was, 8, at), 8);
	now = was + (uint64_t)(int64_t)delta;
	assert_int_equal(pwrite(moved.fd, &now, 8, at), 8);
	assert_int_equal(py_image_read(moved.fd, "python3", &image), 1);
	assert_int_equal(pwrite(moved.fd, &was, 8, at), 8);
	if (image.unsupported[0]) {
		moved.refused++;
		if (!strstr(image.unsupported, ": the interpreter's "))
			fail_msg("member %zu isn't named: %s", i, image.unsupported);
	} else if (walks_wrong(&image, &outcome) || outcome != WALK_OK) {
		moved.bad++;
		print_error("member %zu, moved from %llu by %d: a wrong stack (outcome %d)\n", i,
			    (unsigned long long)was, delta, outcome);
	} else {
		moved.right++;
	}
}

static void test_interpreter(void **state)
{
	const struct interpreter *p = *state;
	pid_t tid[2];

	start(p->path);
	assert_true(read_truth() && read_truth());
	host.pid = target.pid;
	if (find() || host.layout.version < 0x30d) {
		printf("SKIP walk_moved %s: it has no debug offsets\n", p->name);
		return;
	}
	tid[0] = target.pid;
	tid[1] = second_thread();
	for (size_t i = 0; i < 2; i++)
		assert_true(blocks_in_read(tid[i]) && thread_pointer(tid[i], &moved.tp[i]));
	moved = (struct moved){.tp = {moved.tp[0], moved.tp[1]}};
	copy_file(target.fd);
	for (size_t i = FIRST_MEMBER; i < members(); i++)
		for (int delta = -8; delta <= 8; delta += 16)
			move(i, delta);
	printf("%s: %u refused, %u right\n", p->name, moved.refused, moved.right);
	assert_true(moved.refused && moved.right);
	assert_int_equal(moved.bad, 0);
}

/*
 * Tells whether interpreter @p is tested: of each version one build with a GIL and one
 * free-threaded build.
 */
static bool is_wanted(const struct interpreter *p)
{
	return streq(p->kind, "static") || streq(p->kind, "freethreaded") ||
	       streq(p->kind, "extra");
}

int main(void)
{
	return each_interpreter("walk_moved", test_interpreter, is_wanted);
}
