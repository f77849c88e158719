/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait mcp`: reads messages on standard input, and writes the answers on standard output.
 */
#include "cli/mcp/mcp.h"

#include <errno.h>
#include <unistd.h>

#include "base/system/caps.h"
#include "base/error.h"
#include "base/system/log.h"
#include "base/nomem.h"
#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/options/values.h"

struct mcp_options {
	/* directory for recordings; NULL: the tool `record` isn't offered */
	const char *directory;
};

struct input {
	struct str line; /* the beginning of the message that is being read */
	/* the message that is being read is too long, so the rest of it is dropped */
	bool too_long;
};

static int put(const struct str *answer)
{
	size_t done = 0;

	while (done < answer->n) {
		ssize_t n = write(STDOUT_FILENO, answer->s + done, answer->n - done);

		if (n < 0 && errno != EINTR)
			return err_sys(-errno, "can't write to standard output");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int end_of_line(struct input *in, const struct mcp_options *o)
{
	_cleanup_str_ struct str answer = {};

	if (in->too_long)
		mcp_too_long(&answer);
	else if (in->line.n)
		mcp_answer(o->directory, str_cstr(&in->line), in->line.n, &answer);
	in->too_long = false;
	str_clear(&in->line);
	return answer.failed ? err_nomem() : put(&answer);
}

static void take(struct input *in, const char *bytes, size_t n)
{
	if (in->too_long || in->line.n + n > MCP_LINE_BYTES) {
		in->too_long = true;
		str_clear(&in->line);
		return;
	}
	str_add_n(&in->line, bytes, n);
	in->too_long = in->line.failed;
}

static int take_all(struct input *in, const struct mcp_options *o, const char *bytes, size_t n)
{
	int r = 0;

	while (!r && n) {
		const char *newline = memchr(bytes, '\n', n);
		size_t part = newline ? (size_t)(newline - bytes) : n;

		take(in, bytes, part);
		if (!newline)
			break;
		r = end_of_line(in, o);
		bytes += part + 1;
		n -= part + 1;
	}
	return r;
}

static int serve(const struct mcp_options *o)
{
	struct input in = {};
	char bytes[64 << 10];
	ssize_t n = 1;
	int r = 0;

	while (!r && n) {
		n = read(STDIN_FILENO, bytes, sizeof(bytes));
		if (n < 0 && errno != EINTR)
			r = err_sys(-errno, "can't read standard input");
		else if (n > 0)
			r = take_all(&in, o, bytes, (size_t)n);
	}
	str_fini(&in.line);
	return r;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct mcp_options o = {};
	struct operands operands;
	int r = options_read(self, argc, argv, &o, &operands);

	if (r >= 0)
		return r;
	mcp_take_signals();
	/*
	 * This process reads messages without capabilities. Each tool runs as a new krait process,
	 * which has capabilities.
	 */
	caps_restore(0);
	r = serve(&o);
	if (!r || r == -EPIPE)
		return EXIT_DONE;
	log_error("%s", error_words());
	return EXIT_FAILED;
}

static const struct option_row rows[] = {
	{.group = "Recordings",
	 .name = "directory",
	 .arg = "DIR",
	 .set = value_string,
	 .field = offsetof(struct mcp_options, directory),
	 .initial = "none: nothing is recorded",
	 .complete = COMPLETE_FILE,
	 .help = "where recordings may be written"},
	OPTION_HELP,
	{},
};

const struct command command_mcp = {
	.name = "mcp",
	.summary = "Answer an assistant's questions (Model Context Protocol, standard input and "
		   "output).",
	.synopsis = (const char *const[]){"mcp [--directory DIR]", NULL},
	.rows = rows,
	.run = run,
};
