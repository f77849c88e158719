/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the page: one HTML file that needs no other file. Its content security policy lets only
 * the page's own script and style run, and forbids fetching anything. What comes from a recording
 * is in the page as base64, or the script sets it as text. The recording is embedded, so that krait
 * can read a page back.
 */
#include "picture/html/html.h"

#include "base/error.h"
#include "format/common/base64.h"
#include "format/common/embedded.h"
#include "format/common/gzip.h"
#include "format/common/writers.h"
#include "format/pprof/pprof.h"
#include "page.css.h"
#include "page.html.h"
#include "page.js.h"
#include "page_hash.h"
#include "picture/html/html_diff.h"
#include "picture/html/source.h"
#include "picture/markup.h"
#include "view/shape/tree.h"

#define POLICY                                                                                     \
	"default-src 'none'; script-src 'sha256-" PAGE_JS_SHA256                                   \
	"'; style-src 'sha256-" PAGE_CSS_SHA256 "'; base-uri 'none'; form-action 'none'"

static int put_start(struct html *h, FILE *out)
{
	_cleanup_str_ struct str title = {};

	markup_add_xml(&title, str_cstr(&h->title), h->title.n);
	if (title.failed)
		return -ENOMEM;
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"referrer\" content=\"no-referrer\">\n"
		"<title>%s - krait</title>\n<style>%s</style>\n</head>\n",
		POLICY, str_cstr(&title), asset_page_css);
	fputs(asset_page_html, out);
	return 0;
}

static int put_view(struct html *h, FILE *out)
{
	int r = html_put_header(h, out);

	html_put_preview(h, out);
	return r;
}

static int close_after(FILE *f, int r)
{
	if (f && fclose(f) && !r)
		r = errno ? -errno : -EIO;
	return r;
}

/*
 * Writes a block of data; @put writes its contents, and the page's script finds it by @id. The
 * preview of a large page isn't compressed, because browsers can decompress only after they have
 * read most of the file.
 */
static int put_block(struct html *h, const char *id, int (*put)(struct html *h, FILE *out),
		     FILE *out)
{
	bool pack = put != put_view || !h->large;
	FILE *encoder = base64_encoder(out), *zip = encoder && pack ? gzip_encoder(encoder) : NULL;
	FILE *into = pack ? zip : encoder;
	int r;

	fprintf(out, "<script type=\"application/octet-stream\" id=\"%s\">\n", id);
	r = into ? put(h, into) : -ENOMEM;
	r = close_after(encoder, close_after(zip, r));
	fputs("</script>\n", out);
	return r;
}

static int put_tree(struct html *h, FILE *out)
{
	html_put_tree(h, out);
	return 0;
}

static int put_samples(struct html *h, FILE *out)
{
	return html_put_samples(h, out);
}

static int put_source(struct html *h, FILE *out)
{
	if (!h->opt->source_text)
		return source_put(&h->functions, h->opt, h->opt->source_arg, out);
	fputs(h->opt->source_text, out);
	return 0;
}

static int put_source_of(struct html *h, int side, FILE *out)
{
	const struct html_diff *d = h->opt->diff;
	bool taken = d->source[side] && *d->source[side];
	_cleanup_(functions_fini) struct functions fs = {};
	int r;

	if (taken || !h->opt->open_source) {
		fputs(taken ? d->source[side] : "[]", out);
		return 0;
	}
	r = functions_init(&fs, d->recording[side]);
	return r ? r : source_put(&fs, h->opt, d->source_arg[side], out);
}

static int put_source_before(struct html *h, FILE *out)
{
	return put_source_of(h, 0, out);
}

static int put_source_after(struct html *h, FILE *out)
{
	return put_source_of(h, 1, out);
}

static int put_recording(const struct html *h, struct profile *p, const char *tag, FILE *out)
{
	FILE *encoder = base64_encoder(out);
	int r;

	if (!encoder)
		return err_set(-ENOMEM, "out of memory");
	fprintf(out, "%s\n", tag);
	r = pprof_write(p, encoder, h->opt->times);
	if (fclose(encoder) && !r)
		r = err_sys(errno ? -errno : -EIO, "can't write the page");
	fputs("</script>\n", out);
	return r;
}

static int put_recordings(const struct html *h, FILE *out)
{
	const struct html_diff *d = h->opt->diff;
	int r;

	if (!d)
		return put_recording(h, h->p, EMBEDDED_HTML, out);
	r = put_recording(h, d->recording[0], EMBEDDED_BEFORE, out);
	return r ? r : put_recording(h, d->recording[1], EMBEDDED_AFTER, out);
}

static int is_timed(void *arg, const struct profile_sample *s)
{
	return s->time_ns >= 0;
}

/*
 * Finds out what decides how the page's controls look, such as which values there are. The header
 * has these facts, so that the controls are right before the page has read its samples.
 */
static int find_facts(struct html *h, const struct profile_sum *sums, size_t n)
{
	int r = h->opt->times == PROFILE_TIMES_NONE ? 0 : profile_each(h->p, is_timed, NULL);

	h->timed = r > 0;
	h->used = calloc((size_t)profile_n_labels(h->p) + 1, sizeof(*h->used));
	if (r < 0 || !h->used)
		return r < 0 ? r : -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		h->used[sums[i].labels] = true;
		for (unsigned v = 0; v < profile_meta(h->p)->n_values; v++) {
			int64_t value = sums[i].values[v];

			if (__builtin_add_overflow(h->totals[v], value, &h->totals[v]))
				h->totals[v] = INT64_MAX;
			value = value < 0 ? -MAX(value, -INT64_MAX) : 0;
			if (__builtin_add_overflow(h->less[v], value, &h->less[v]))
				h->less[v] = INT64_MAX;
		}
	}
	return 0;
}

static int prepare(struct html *h)
{
	_cleanup_free_ struct profile_sum *sums = NULL;
	size_t n;
	int r = h->opt->value ? tree_value(h->p, h->opt->value)
			      : (int)profile_meta(h->p)->default_value;

	if (r < 0)
		return r;
	h->value = r;
	r = profile_sums(h->p, &sums, &n);
	if (!r)
		r = roots_init(&h->roots, h->p, sums, n, h->opt->by);
	if (r)
		return r;
	r = find_facts(h, sums, n);
	if (r)
		return r;
	roots_title(&h->roots, h->opt->title, &h->title);
	r = functions_init(&h->functions, h->p);
	if (!r)
		r = html_tree_build(&h->tree, h->p, &h->functions);
	return r ? r : html_preview(h, sums, n);
}

/*
 * Writes the body. The data of the first picture come first, so that the script draws it while the
 * browser still reads the rest.
 */
static int put_body(struct html *h, FILE *out)
{
	int r = put_block(h, "krait-view", put_view, out);

	if (!r && !h->preview.n)
		r = put_block(h, "krait-tree", put_tree, out);
	fprintf(out, "<script>%s</script>\n", asset_page_js);
	if (!r && h->preview.n)
		r = put_block(h, "krait-tree", put_tree, out);
	if (!r)
		r = put_block(h, "krait-samples", put_samples, out);
	if (!r && h->opt->diff)
		r = put_block(h, "krait-source-before", put_source_before, out);
	if (!r && h->opt->diff)
		r = put_block(h, "krait-source-after", put_source_after, out);
	if (!r && !h->opt->diff && (h->opt->open_source || h->opt->source_text))
		r = put_block(h, "krait-source", put_source, out);
	return r;
}

static int write_page(struct html *h, FILE *out)
{
	int r = prepare(h);

	if (r)
		return r;
	r = put_start(h, out);
	if (!r)
		r = put_body(h, out);
	if (r)
		return err_set(r, "can't write the page: %s",
			       r == -ENOMEM ? "out of memory" : strerror(-r));
	r = put_recordings(h, out);
	fputs("</body>\n</html>\n", out);
	return r;
}

int html_write(struct profile *p, FILE *out, const struct render_options *opt)
{
	struct html h = {.p = p, .opt = opt};
	int r = write_page(&h, out);

	functions_fini(&h.functions);
	html_tree_fini(&h.tree);
	roots_fini(&h.roots);
	str_fini(&h.title);
	free(h.used);
	vec_fini(&h.preview);
	if (!r && (fflush(out) || ferror(out)))
		r = err_sys(errno ? -errno : -EIO, "can't write the page");
	return r;
}
