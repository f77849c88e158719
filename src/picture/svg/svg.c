/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the picture: one SVG file that needs no other file. Without scripts it is a complete flame
 * graph, with a title for each box on hover. Its scripts add zoom, search and details. The
 * recording is embedded, so that krait can report on a picture that somebody sent.
 */
#include "picture/svg/svg.h"

#include "base/error.h"
#include "format/common/base64.h"
#include "format/common/embedded.h"
#include "format/common/writers.h"
#include "format/pprof/pprof.h"
#include "svg.css.h"
#include "svg_input.js.h"
#include "svg_model.js.h"
#include "svg_view.js.h"

static void put_start(const struct svg *s, struct str *b)
{
	unsigned height = SVG_HEADER + s->depth * SVG_ROW + SVG_FOOTER;

	str_addf(b,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		 "viewBox=\"0 0 %d %u\" role=\"img\" aria-labelledby=\"title numbers\">\n",
		 SVG_WIDTH, height, SVG_WIDTH, height);
	svg_put_description(s, b);
	str_addf(b, "<style><![CDATA[\n%s]]></style>\n", asset_svg_css);
	str_add(b, "<rect id=\"page\" width=\"100%\" height=\"100%\"/>\n");
	svg_put_header(s, b);
	str_add(b, "<g id=\"boxes\">\n");
}

static int put(struct str *b, FILE *out)
{
	if (b->failed)
		return err_set(-ENOMEM, "out of memory");
	fwrite(b->s, 1, b->n, out);
	str_clear(b);
	return 0;
}

static int put_picture(const struct svg *s, FILE *out)
{
	_cleanup_str_ struct str b = {};
	int r;

	put_start(s, &b);
	r = put(&b, out);
	vec_foreach(box, &s->boxes) {
		svg_put_box(s, box, &b);
		if (!r)
			r = put(&b, out);
	}
	str_add(&b, "</g>\n");
	svg_put_footer(s, &b);
	if (!r)
		r = put(&b, out);
	if (r)
		return r;
	r = svg_put_data(s, out);
	return r ? err_set(r, "out of memory") : 0;
}

static int put_recording(const struct svg *s, FILE *out)
{
	FILE *encoder = base64_encoder(out);
	int r;

	if (!encoder)
		return err_set(-ENOMEM, "out of memory");
	fputs(EMBEDDED_SVG "\n", out);
	r = pprof_write(s->p, encoder, s->opt->times);
	if (fclose(encoder) && !r)
		r = err_sys(errno ? -errno : -EIO, "can't write the picture");
	fputs("</metadata>\n", out);
	return r;
}

static int write_picture(struct svg *s, FILE *out)
{
	const struct profile_meta *meta = profile_meta(s->p);
	int r = s->opt->value ? tree_value(s->p, s->opt->value) : (int)meta->default_value;

	if (r < 0)
		return r;
	s->value = r;
	r = svg_layout(s);
	if (!r)
		r = put_picture(s, out);
	if (!r)
		r = put_recording(s, out);
	if (!r)
		fprintf(out,
			"<script><![CDATA[\n(() => {\n'use "
			"strict';\n%s%s%s})();\n]]></script>\n</svg>\n",
			asset_svg_model_js, asset_svg_view_js, asset_svg_input_js);
	return r;
}

int svg_write(struct profile *p, FILE *out, const struct render_options *opt)
{
	struct svg s = {.p = p, .opt = opt};
	int r = write_picture(&s, out);

	svg_fini(&s);
	if (!r && (fflush(out) || ferror(out)))
		r = err_sys(errno ? -errno : -EIO, "can't write the picture");
	return r;
}
