/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of krait's commands. The commands help and version, which have no folder, are here. */
#include "cli/commands.h"

#include <sys/capability.h>
#include <sqlite3.h>
#include <sys/utsname.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "base/system/log.h"
#include "cli/exit.h"
#include "cli/options/help.h"
#include "cli/parts.h"
#include "format/format.h"

/* clang-format off */
const struct command *const commands[] = {
	&command_record,
	&command_top,
	&command_dump,
	&command_report,
	&command_merge,
	&command_diff,
	&command_doctor,
	&command_agent,
	&command_last,
	&command_py_spy,
	&command_attach,
	&command_run,
	&command_mcp,
	&command_help,
	&command_version,
	&command_man,
	&command_completion,
	NULL,
};
/* clang-format on */

const struct command *command_by_name(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (streq((*c)->name, name))
			return *c;
	return NULL;
}

static const struct option_row no_options[] = {OPTION_HELP, {}};

static void print_formats(FILE *out)
{
	fprintf(out, "%-18s %-20s %s\n", "FORMAT", "EXTENSIONS", "LOSES");
	for (size_t i = 0; i < render_n_formats; i++) {
		const struct render_format *f = &render_formats[i];
		char extensions[64] = "";

		for (size_t j = 0; j < ARRAY_SIZE(f->extensions) && f->extensions[j]; j++)
			snprintf(extensions + strlen(extensions),
				 sizeof(extensions) - strlen(extensions), "%s%s", j ? " " : "",
				 f->extensions[j]);
		fprintf(out, "%-18s %-20s %s\n", f->name, extensions, f->loses);
	}
}

static int run_help(const struct command *self, int argc, char **argv)
{
	struct operands operands;
	const struct command *c;
	int r = options_read(self, argc, argv, NULL, &operands);

	if (r >= 0)
		return r;
	if (!operands.operand) {
		help_overview(stdout);
	} else if (streq(operands.operand, "formats")) {
		print_formats(stdout);
	} else {
		c = command_by_name(operands.operand);
		if (!c) {
			log_error("there is no command '%s'; `krait help` lists them",
				  operands.operand);
			return EXIT_USAGE;
		}
		help_command(stdout, c);
	}
	return EXIT_DONE;
}

const struct command command_help = {
	.name = "help",
	.summary = "Explain krait or one command; `help formats` lists the outputs.",
	.synopsis = (const char *const[]){"help [COMMAND]", "help formats", NULL},
	.rows = no_options,
	.operand = "COMMAND",
	.run = run_help,
};

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif
#ifdef KRAIT_STATIC
#define LINKED "one static file"
#else
#define LINKED "linked with the system's libraries"
#endif

static void print_parts(void)
{
	_cleanup_str_ struct str parts = {};
	struct utsname name;

	uname(&name);
	str_addf(&parts, "zlib %s, zstd %s, xxHash %d.%d.%d, libcap %d.%d, SQLite %s",
		 zlibVersion(), ZSTD_versionString(), XXH_VERSION_MAJOR, XXH_VERSION_MINOR,
		 XXH_VERSION_RELEASE, LIBCAP_MAJOR, LIBCAP_MINOR, sqlite3_libversion());
	parts_add_recording(&parts);
	printf("%s, for %s, compiled by %s\nwith %s\n", LINKED, name.machine, COMPILER,
	       str_cstr(&parts));
}

static int run_version(const struct command *self, int argc, char **argv)
{
	struct operands operands;
	int r = options_read(self, argc, argv, NULL, &operands);

	if (r >= 0)
		return r;
	printf("krait %s\n", KRAIT_VERSION);
	if (self == &command_version)
		print_parts();
	return EXIT_DONE;
}

/* What `krait --version` runs: it prints one line, for scripts. */
const struct command command_version_line = {
	.name = "version",
	.summary = "Print the version.",
	.synopsis = (const char *const[]){"--version", NULL},
	.rows = no_options,
	.run = run_version,
};

const struct command command_version = {
	.name = "version",
	.summary = "Print the version, and the versions of the libraries in it.",
	.synopsis = (const char *const[]){"version", "--version", NULL},
	.rows = no_options,
	.run = run_version,
};
