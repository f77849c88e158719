/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of the formats that krait reads, and the functions that read the bytes of a file; see
 * read.h.
 */
#include "format/read.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/vec.h"
#include "format/common/embedded.h"
#include "format/common/unpack.h"
#include "format/firefox/firefox_in.h"
#include "format/folded/folded_in.h"
#include "format/jsonl/jsonl_in.h"
#include "format/pprof/pprof.h"
#include "format/speedscope/speedscope_in.h"
#include "format/trace/trace_in.h"
#include "format/v8/cpuprofile_in.h"
#include "picture/html/source.h"

#define HEAD (64u << 10)
/* the largest file that krait reads; a recording takes 8 bytes for each sample */
#define MAX_BYTES ((size_t)2 << 30)

static bool is_two(const struct read_input *in)
{
	return read_two_probe(in->data, in->n);
}

static bool is_svg(const struct read_input *in)
{
	return embedded_probe((const char *)in->data, in->n);
}

static int read_svg(const uint8_t *data, size_t n, struct profile **ret)
{
	_cleanup_free_ uint8_t *pprof = NULL;
	size_t pprof_n;
	int r = embedded_extract((const char *)data, n, &pprof, &pprof_n);

	if (r)
		return r;
	r = pprof_read(pprof, pprof_n, ret);
	return r ? err_wrap(r, "can't read the recording in the picture") : 0;
}

/*
 * Tells whether krait wrote the file and put the recording at the file's end, as in pstats files.
 */
static bool has_end(const struct read_input *in)
{
	size_t n;

	return embedded_at_end(in->data, in->n, &n) != NULL;
}

static int read_end(const uint8_t *data, size_t n, struct profile **ret)
{
	size_t pprof_n;
	const uint8_t *pprof = embedded_at_end(data, n, &pprof_n);
	int r = pprof ? pprof_read(pprof, pprof_n, ret) : -EINVAL;

	return r ? err_wrap(r, "can't read the recording at the file's end") : 0;
}

static bool is_jsonl(const struct read_input *in)
{
	return jsonl_probe(in->head, in->head_n);
}

static bool is_speedscope(const struct read_input *in)
{
	return speedscope_probe(in->head, in->head_n);
}

static bool is_firefox(const struct read_input *in)
{
	return firefox_probe(in->head, in->head_n);
}

static bool is_trace(const struct read_input *in)
{
	return trace_probe(in->head, in->head_n);
}

static bool is_cpuprofile(const struct read_input *in)
{
	return cpuprofile_probe(in->head, in->head_n);
}

static bool is_old_cpuprofile(const struct read_input *in)
{
	static const char begin[] = "{\"head\":{\"functionName\":";

	return in->head_n >= strlen(begin) && !memcmp(in->head, begin, strlen(begin));
}

static bool is_folded(const struct read_input *in)
{
	return folded_probe(in->head, in->head_n);
}

static bool is_control(uint8_t c)
{
	return c < ' ' && c != '\t' && c != '\n' && c != '\r';
}

/*
 * Tells whether the file looks like a protocol buffers message that begins with one of the fields 1
 * to 15, as a number or bytes. A text may begin in the same way, but has no control characters.
 */
static bool is_pprof(const struct read_input *in)
{
	uint8_t tag = in->head_n ? in->head[0] : 0;
	bool field = tag >> 3 >= 1 && tag >> 3 <= 15 && ((tag & 7) == 0 || (tag & 7) == 2);

	for (size_t i = 0; field && i < in->head_n; i++)
		if (is_control(in->head[i]))
			return true;
	return false;
}

/*
 * The formats that krait reads. The first format whose function .probe returns true for a file
 * reads the file.
 */
static const struct read_format formats[] = {
	{"html", is_two, read_two_as_one},
	{"svg", is_svg, read_svg},
	{"pstats", has_end, read_end},
	{"jsonl", is_jsonl, jsonl_read},
	{"speedscope", is_speedscope, speedscope_read},
	{"firefox", is_firefox, firefox_read},
	{"trace", is_trace, trace_read},
	{"cpuprofile", is_cpuprofile, cpuprofile_read},
	{"folded", is_folded, folded_read},
	{"pprof", is_pprof, pprof_read},
};

static void list_names(char *buf, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(formats) && at < n; i++)
		at += (size_t)snprintf(buf + at, n - at, "%s%s", i ? ", " : "", formats[i].name);
}

/*
 * Tells whether perf record wrote the file. A pprof message may begin with the same bytes, but no
 * real one does.
 */
static bool is_perf_data(const uint8_t *data, size_t n)
{
	return n >= 8 && !memcmp(data, "PERFILE2", 8);
}

/*
 * Tells whether Python's pstats can read the file: in marshal's format, a dict whose keys are
 * tuples of three. Such a file has no stacks, only two times (with and without callees) for each
 * function and for each of its callers. krait would have to invent stacks that add up to these
 * times.
 */
static bool is_pstats(const uint8_t *data, size_t n)
{
	static const uint8_t three[] = {3, 0, 0, 0};

	if (n < 6 || (data[0] & 0x7f) != '{')
		return false;
	return ((data[1] & 0x7f) == '(' && !memcmp(data + 2, three, sizeof(three))) ||
	       ((data[1] & 0x7f) == ')' && data[2] == 3);
}

/*
 * Tells whether the file is UTF-16 text, as Windows writes it: a byte order mark, then an ASCII
 * character.
 */
static bool is_utf16(const uint8_t *data, size_t n)
{
	return n >= 4 && ((data[0] == 0xff && data[1] == 0xfe && !data[3]) ||
			  (data[0] == 0xfe && data[1] == 0xff && !data[2]));
}

/*
 * Refuses files of other tools that krait recognizes but can't read. A pstats file that krait wrote
 * isn't refused, because a recording is at its end.
 */
static int check_known(const uint8_t *data, size_t n)
{
	size_t end;

	if (is_perf_data(data, n))
		return err_set(-EINVAL,
			       "this is perf's own format; make folded stacks of it: perf script "
			       "| stackcollapse-perf.pl");
	if (n >= 4 && !memcmp(data, "MOJ", 3) && data[3] < ' ')
		return err_set(
			-EINVAL,
			"this is Austin's MOJO; krait reads it as folded stacks: mojo2austin, "
			"of the Python package austin-python, makes them");
	if (is_utf16(data, n))
		return err_set(-EINVAL, "this is UTF-16, but krait reads UTF-8; "
					"convert it: iconv -f UTF-16 -t UTF-8");
	if (is_pstats(data, n) && !embedded_at_end(data, n, &end))
		return err_set(-EINVAL,
			       "this is a file of Python's pstats, which has no stacks; "
			       "krait reads only pstats files that it wrote itself (a "
			       "recording is at their end); python3 -m pstats shows this one");
	return 0;
}

/*
 * Sets the message for a page or picture that has no recording. If the file lacks its closing tag,
 * the message says that it is cut off, because krait writes the recording near the end.
 */
static void refuse_markup(const char *data, size_t n)
{
	static const char *const ends[] = {"</html>", "</svg>"};
	size_t end = n;

	while (end && isspace((unsigned char)data[end - 1]))
		end--;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t k = strlen(ends[i]);

		if (end >= k && !memcmp(data + end - k, ends[i], k)) {
			err_set(-EINVAL, "the file holds no recording; krait's own pages and "
					 "pictures hold one");
			return;
		}
	}
	err_set(-EINVAL, "byte %zu: the page or picture ends there, before its recording", n);
}

/*
 * Returns the format of a file, of which @data has at least the beginning. NULL + message if krait
 * reads no such format.
 */
static const struct read_format *find(const uint8_t *data, size_t n)
{
	_cleanup_free_ uint8_t *head = malloc(HEAD);
	struct read_input in = {.data = data, .n = n, .head = head};
	const struct read_format *found = NULL;
	char names[128] = "";
	struct unpack u;
	size_t got = 0;
	int r;

	if (!head) {
		(void)err_nomem();
		return NULL;
	}
	if (check_known(data, n))
		return NULL;
	r = unpack_open(&u, data, n);
	while (!r && in.head_n < HEAD && !u.ended) {
		r = unpack_more(&u, head + in.head_n, HEAD - in.head_n, &got);
		in.head_n += r ? 0 : got;
	}
	unpack_close(&u);
	if (r == -ENOMEM)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(formats) && !found; i++)
		if (formats[i].probe(&in))
			found = &formats[i];
	if (found)
		return found;
	if (r)
		return NULL; /* the compressed data are damaged, and the message says so already */
	list_names(names, sizeof(names));
	if (n > 0 && (data[0] == '<' || (n > 3 && !memcmp(data, "\xef\xbb\xbf<", 4))))
		refuse_markup((const char *)data, n);
	else if (in.head_n && head[0] == '<')
		err_set(-EINVAL, "a page or picture must be unpacked before krait reads it");
	else if (is_old_cpuprofile(&in))
		err_set(-EINVAL,
			"this is the older form of a .cpuprofile, with \"head\" instead of "
			"\"nodes\"; krait reads what node --cpu-prof writes");
	else
		err_set(-EINVAL, "byte 0: this is no profile that krait reads: %s", names);
	return NULL;
}

int read_profile(const uint8_t *data, size_t n, struct profile **ret)
{
	const struct read_format *f;
	int r;

	err_memory_begin();
	f = find(data, n);
	r = f ? f->read(data, n, ret) : -EINVAL;
	if (r == -ENOMEM)
		return err_nomem();
	/* if memory ran out, the profile may lack texts that couldn't be stored */
	if (!r && err_memory_failed()) {
		profile_free(*ret);
		*ret = NULL;
		r = err_nomem();
	}
	return r;
}

struct bytes {
	uint8_t *v;
	size_t n, cap;
};

/* Reads until @b has @want bytes or the file ends. 0 or -errno without a message. */
static int read_until(int fd, struct bytes *b, size_t want)
{
	while (b->n < want) {
		ssize_t got;

		if (vec_grow((void **)&b->v, &b->cap, MIN(b->n + HEAD, want), 1))
			return err_nomem();
		got = read(fd, b->v + b->n, MIN(b->cap, want) - b->n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		b->n += (size_t)got;
	}
	return 0;
}

/*
 * Tells whether the rest of the file is to be read too. If its beginning is that of no format, as
 * with /dev/zero or a disk image, it isn't. Pages, pictures and pstats files are read to the end,
 * because the recording in them may come late.
 */
static bool worth_reading(const struct bytes *b)
{
	return b->n < HEAD || b->v[0] == '<' || is_pstats(b->v, b->n) || find(b->v, b->n);
}

/*
 * Tells whether a file is too large. A pipe has no size, so only the bytes that were read from it
 * so far count.
 */
static bool is_too_large(int fd, const struct bytes *b)
{
	struct stat st;

	return b->n >= MAX_BYTES ||
	       (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= (off_t)MAX_BYTES);
}

static int read_fd(int fd, struct bytes *b)
{
	int r = read_until(fd, b, HEAD);

	if (!r && !worth_reading(b))
		return -EINVAL;
	if (!r && !is_too_large(fd, b))
		r = read_until(fd, b, MAX_BYTES);
	if (r)
		return err_sys(r, "can't be read");
	return is_too_large(fd, b)
		       ? err_set(-E2BIG, "the file has more than 2 GiB, which krait doesn't read")
		       : 0;
}

/* What the caller wants to read from a file. A member is NULL if the caller doesn't want it. */
struct wanted {
	/*
	 * .one: receives the file's profile; .two: receives both profiles of a page that compares
	 * two
	 */
	struct profile **one, **two;
	/* the tag before the source text that the caller wants from a page */
	const char *tag;
	struct str *source;
};

static int read_bytes(const struct bytes *b, const struct wanted *w)
{
	if (w->source)
		return source_take((const char *)b->v, b->n, w->tag, w->source);
	return w->one ? read_profile(b->v, b->n, w->one) : read_two(b->v, b->n, w->two);
}

static int read_file(const char *path, const struct wanted *w)
{
	struct bytes b = {};
	bool in = streq(path, "-");
	_cleanup_close_ int fd = in ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r;

	if (!in && fd < 0)
		return err_sys(-errno, "can't read %s", path);
	r = read_fd(in ? STDIN_FILENO : fd, &b);
	r = r ? r : read_bytes(&b, w);
	free(b.v);
	return r ? err_wrap(r, "%s", in ? "standard input" : path) : 0;
}

int read_profile_file(const char *path, struct profile **ret)
{
	return read_file(path, &(struct wanted){.one = ret});
}

int read_two_file(const char *path, struct profile *ret[2])
{
	return read_file(path, &(struct wanted){.two = ret});
}

int read_source_file(const char *path, const char *tag, struct str *ret)
{
	return read_file(path, &(struct wanted){.tag = tag, .source = ret});
}
