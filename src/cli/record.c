/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait record`: not built yet. */
#include "cli/record.h"

#include "base/log.h"
#include "cli/exit.h"
#include "render/render.h"

/* Until src/render is there. */
const struct render_format render_formats[1] __attribute__((weak)) = {{"svg", {".svg"}, "nothing"}};
const size_t render_n_formats __attribute__((weak)) = 1;
__attribute__((weak)) const struct render_format *render_by_name(const char *name)
{
	return render_formats;
}
__attribute__((weak)) const struct render_format *render_by_file(const char *path)
{
	return render_formats;
}

int cmd_record(const struct record_options *o)
{
	log_error("recording is not built yet");
	return EXIT_RIGHTS;
}
