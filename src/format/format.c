/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of the formats that krait writes. A new format needs a file that writes it, and a row
 * in this table.
 */
#include "format/format.h"
#include "base/text/str.h"
#include "format/common/options.h"

#include "base/error.h"
#include "format/common/writers.h"
#include "format/pprof/pprof.h"

static int write_pprof(struct profile *p, FILE *out, const struct render_options *opt)
{
	return pprof_write(p, out, opt->times);
}

/* The formats that krait writes. A recording without -o is written in the first one. */
const struct render_format render_formats[] = {
	{"html", {".html"}, "nothing: the recording is embedded", html_write},
	{"svg", {".svg"}, "nothing: the recording is embedded", svg_write},
	{"pprof", {".pb.gz"}, "nothing: the recording", write_pprof},
	{"jsonl", {".jsonl"}, "nothing", jsonl_write},
	{"folded",
	 {".folded", ".txt"},
	 "times, all values but one, labels that no outermost frame has",
	 folded_write},
	{"speedscope",
	 {".speedscope.json"},
	 "all values but one, labels other than process and thread, columns",
	 speedscope_write},
	{"firefox",
	 {".firefox.json"},
	 "all values but one (waits stay, as markers), labels other than process and thread",
	 firefox_write},
	{"trace",
	 {".trace.json"},
	 "lines, all values but one (waits stay, as events), labels other than process and thread, "
	 "samples without times",
	 trace_write,
	 .no_by = true,
	 .needs_times = true},
	{"pstats",
	 {".pstats"},
	 "native frames, lines, times, labels; call counts are samples (krait itself: nothing, "
	 "the recording follows)",
	 pstats_write,
	 .no_by = true},
};
const size_t render_n_formats = ARRAY_SIZE(render_formats);

static void list_names(struct str *b)
{
	for (size_t i = 0; i < render_n_formats; i++)
		str_addf(b, "%s%s", i ? ", " : "", render_formats[i].name);
}

static void list_extensions(struct str *b)
{
	for (size_t i = 0; i < render_n_formats; i++) {
		for (const char *const *e = render_formats[i].extensions; *e; e++)
			str_addf(b, "%s%s", b->n ? " " : "", *e);
	}
}

const struct render_format *render_by_name(const char *name)
{
	_cleanup_str_ struct str known = {};

	for (size_t i = 0; i < render_n_formats; i++) {
		if (streq(render_formats[i].name, name))
			return &render_formats[i];
	}
	list_names(&known);
	err_of("format", name, -EINVAL, "no such format; there are %s", str_cstr(&known));
	return NULL;
}

const struct render_format *render_known_file(const char *path)
{
	const struct render_format *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < render_n_formats; i++) {
		for (const char *const *e = render_formats[i].extensions; *e; e++) {
			if (!str_ends(path, *e) || strlen(*e) <= longest)
				continue;
			longest = strlen(*e);
			best = &render_formats[i];
		}
	}
	return best;
}

const struct render_format *render_by_file(const char *path)
{
	const struct render_format *found = render_known_file(path);
	_cleanup_str_ struct str known = {};

	if (found)
		return found;
	list_extensions(&known);
	err_of("extension", path, -EINVAL,
	       "%s: the file's extension names no format; use one of %s", path, str_cstr(&known));
	return NULL;
}

int render_check_by(const struct render_format *format, const char *by)
{
	if (!by || !format->no_by)
		return 0;
	return err_of("grouping", by, -EINVAL,
		      "%s doesn't show groups; svg and folded, for example, do", format->name);
}
