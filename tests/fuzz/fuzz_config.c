/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as a configuration file of `krait record`: each line is a setting, is reported as
 * faulty, or is empty. The settings that krait prints can be read back, and are the same.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text/str.h"
#include "cli/commands.h"
#include "cli/config/config.h"
#include "cli/record/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

struct loaded {
	struct record_options options;
	struct config config;
};

static void load(struct loaded *l, const char *text, size_t n)
{
	record_options_init(&l->options);
	config_init(&l->config, &command_record, &l->options);
	check(!config_read_text(&l->config, "agent.conf", text, n));
}

static void unload(struct loaded *l)
{
	config_fini(&l->config);
	record_options_fini(&l->options);
}

static void no_change(void *ctx, const struct option_row *row)
{
	abort();
}

/* The printed text also has comments, so it may be too long for a configuration file. */
static void check_printed(const struct config *c)
{
	_cleanup_free_ char *text = NULL;
	struct loaded again;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	check(out);
	config_print(c, out);
	fclose(out);
	if (n > CONFIG_BYTES)
		return;
	load(&again, text, n);
	check(!again.config.faults.n);
	config_changes(c, &again.config, no_change, NULL);
	unload(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct loaded l;

	/*
	 * Skips inputs with "{": for repetitions like x{N} in a regular expression, the C library
	 * takes endless memory.
	 */
	if (n && memchr(data, '{', n))
		return 0;
	load(&l, (const char *)data, n);
	vec_foreach(fault, &l.config.faults)
		check(str_starts(*fault, "agent.conf"));
	check_printed(&l.config);
	unload(&l);
	return 0;
}
