/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a profile to a file; see write.h. */
#include "cli/write.h"

#include <errno.h>
#include <unistd.h>
#include "base/error.h"
#include "base/system/log.h"
#include "base/nomem.h"
#include "base/text/visible.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "host/caller.h"
#include "host/files/output.h"

const struct render_format *write_format(const char *name, const char *path)
{
	if (name)
		return render_by_name(name);
	if (path && !streq(path, "-"))
		return render_by_file(path);
	err_set(-EINVAL, "standard output has no extension; say the format too, as in "
			 "`--format folded`");
	return NULL;
}

static int write_as_caller(struct output *out, const char *path, int (*fn)(void *arg, FILE *out),
			   void *arg)
{
	int r = output_open(out, path);

	err_memory_begin();
	if (!r)
		r = fn(arg, out->stream);
	/* a later failure may have replaced the message, so it is set again */
	if (r == -ENOMEM)
		r = err_nomem();
	return r ? r : output_commit(out);
}

int write_output(const char *path, int (*fn)(void *arg, FILE *out), void *arg)
{
	struct caller caller = {};
	struct output out = {};
	int r = caller_find(&caller);

	if (!r)
		r = caller_enter(&caller);
	if (!r) {
		r = write_as_caller(&out, path ? path : "-", fn, arg);
		output_fini(&out);
		caller_leave(&caller);
	}
	caller_fini(&caller);
	/* -EPIPE: the reader has seen enough, as `head` has; that needs no message */
	if (r && r != -EPIPE)
		log_error("%s", error_words());
	return r ? EXIT_FAILED : EXIT_DONE;
}

int write_profile_to(FILE *out, struct profile *p, const struct render_format *format,
		     const struct render_options *opt)
{
	FILE *shown = isatty(fileno(out)) ? visible_stream(out) : NULL;
	int r = format->write(p, shown ? shown : out, opt);

	if (shown && fclose(shown) && !r)
		r = err_sys(-errno, "can't write to the terminal");
	return r;
}

struct file_arg {
	struct profile *p;
	const struct render_format *format;
	const struct render_options *opt;
};

static int write_format_to(void *arg, FILE *out)
{
	struct file_arg *a = arg;

	return write_profile_to(out, a->p, a->format, a->opt);
}

int write_file(struct profile *p, const char *path, const struct render_format *format,
	       const struct render_options *opt)
{
	if (render_check_by(format, opt->by)) {
		log_error("%s", error_words());
		return EXIT_FAILED;
	}
	return write_output(path, write_format_to, &(struct file_arg){p, format, opt});
}
