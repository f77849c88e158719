/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as a message to `krait mcp`. The answer is one line of JSON or nothing. A command
 * that krait would run has only words that its tool may have.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text/json_in.h"
#include "base/text/utf8.h"
#include "cli/mcp/mcp.h"

#define DIRECTORY "/recordings"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

/*
 * Replaces the function that runs krait. Checks that a file's name is never taken for an option,
 * and that recordings are written only to their directory.
 */
int mcp_run(char *const *argv, unsigned seconds, struct str *ret)
{
	static const char *const commands[] = {"top", "dump", "record", "report", "diff"};
	static const char output[] = "--output=" DIRECTORY "/";
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		known |= streq(argv[0], commands[i]);
	check(known && seconds <= 360);
	if (streq(argv[0], "record"))
		check(str_starts(argv[1], output) && !strchr(argv[1] + strlen(output), '/'));
	if (streq(argv[0], "diff"))
		check(argv[1][0] != '-' && argv[2][0] != '-' && !argv[3]);
	if (streq(argv[0], "report"))
		check(argv[1][0] != '-');
	for (; *argv; argv++)
		str_addf(ret, "%s\n", *argv);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_str_ struct str answer = {};
	struct json_in in;

	mcp_answer(DIRECTORY, (const char *)data, n, &answer);
	if (!answer.n)
		return 0;
	check(utf8_valid(answer.s, answer.n) == answer.n);
	check(memchr(answer.s, '\n', answer.n) == answer.s + answer.n - 1);
	json_in_init(&in, answer.s, answer.n);
	check(!json_in_skip(&in) && !json_in_end(&in));
	return 0;
}
