/* SPDX-License-Identifier: BSD-2-Clause */
/* Unpacks .gnu_debugdata, which is an ELF file that has only function symbols, compressed by xz. */
#include "symbol/elf/debug_file.h"

#include <lzma.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/system/far.h"

#define BLOCK_BYTES	(64u << 10)
#define LZMA_MEMORY_MAX (80ull << 20) /* how many bytes the decoder may take; xz -9 needs 65 MiB */

struct unpack {
	struct elf_section packed;
	uint64_t done; /* how many bytes of .packed have been read */
	int in, out;
	uint64_t written;
	uint8_t in_block[BLOCK_BYTES], out_block[BLOCK_BYTES];
};

static void lzma_endp(lzma_stream *s)
{
	lzma_end(s);
}

static int write_block(struct unpack *u, size_t n)
{
	size_t at = 0;

	u->written += n;
	if (u->written > MINI_DEBUG_MAX)
		return -EFBIG;
	while (at < n) {
		ssize_t r = write(u->out, u->out_block + at, n - at);

		if (r < 0 && errno != EINTR)
			return -errno;
		at += r > 0 ? (size_t)r : 0;
	}
	return 0;
}

/* Reads more packed bytes. At the end of the section or file it reads none. */
static int read_block(struct unpack *u, lzma_stream *s)
{
	size_t want = MIN(u->packed.size - u->done, (uint64_t)BLOCK_BYTES);
	ssize_t n =
		want ? far_pread(u->in, u->in_block, want, (off_t)(u->packed.offset + u->done)) : 0;

	if (n < 0)
		return -errno;
	u->done += (uint64_t)n;
	s->next_in = u->in_block;
	s->avail_in = (size_t)n;
	return 0;
}

static int unpack(struct unpack *u)
{
	_cleanup_(lzma_endp) lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret state = lzma_stream_decoder(&s, LZMA_MEMORY_MAX, 0);
	int r = 0;

	while (state == LZMA_OK && !r) {
		bool end;

		if (!s.avail_in)
			r = read_block(u, &s);
		end = u->done == u->packed.size || !s.avail_in;
		s.next_out = u->out_block;
		s.avail_out = BLOCK_BYTES;
		if (!r)
			state = lzma_code(&s, end ? LZMA_FINISH : LZMA_RUN);
		if (!r)
			r = write_block(u, BLOCK_BYTES - s.avail_out);
	}
	if (r)
		return r;
	return state == LZMA_STREAM_END ? 0 : state == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int debug_file_unpack(struct elf_file *f, int fd)
{
	_cleanup_free_ struct unpack *u = NULL;
	_cleanup_close_ int out = -1;
	struct elf_section packed;
	int r;

	if (!elf_file_section(f, ".gnu_debugdata", &packed) || packed.nobits)
		return -ENOENT;
	u = malloc(sizeof(*u));
	out = memfd_create("debugdata", MFD_CLOEXEC);
	if (!u || out < 0)
		return err_sys(u ? -errno : -ENOMEM, "%s", elf_file_name(f));
	u->packed = packed;
	u->in = fd;
	u->out = out;
	u->done = u->written = 0;
	r = unpack(u);
	if (r)
		return err_sys(r, "%s: .gnu_debugdata can't be unpacked", elf_file_name(f));
	return TAKE_FD(out);
}
