/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the parsing of lines of /proc/net: real ones and malformed ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dump/facts/socket.h"

static void assert_inet(const char *line, const char *kind, const char *want)
{
	char got[SOCKET_TEXT_BYTES] = "";

	assert_int_equal(socket_inet_line(line, kind, 1184, got), *want != 0);
	assert_string_equal(got, want);
	assert_false(socket_inet_line(line, kind, 1185, got));
}

#define REST "00000000:00000000 00:00000000 00000000     0        0 1184 1 00000000dd5c41c3 100 0 0"

static void test_inet(void **state)
{
	assert_inet("   0: 0100007F:1F90 00000000:0000 0A " REST, "tcp",
		    "tcp listening on 127.0.0.1:8080");
	assert_inet("   0: 0100007F:D000 0500000A:1538 01 " REST, "tcp", "tcp 10.0.0.5:5432");
	assert_inet("  10: 0100007F:0035 00000000:0000 07 " REST, "udp", "udp on 127.0.0.1:53");
	assert_inet("   1: 00000000000000000000000001000000:0050 "
		    "00000000000000000000000000000000:0000 0A " REST,
		    "tcp", "tcp listening on [::1]:80");
	assert_inet("   1: 0000000000000000FFFF00000100007F:0050 "
		    "0000000000000000FFFF00000500000A:1538 01 " REST,
		    "tcp", "tcp 10.0.0.5:5432");
}

static void test_not_inet(void **state)
{
	assert_inet("", "tcp", "");
	assert_inet("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt",
		    "tcp", "");
	assert_inet("   0: 0100007F1F90 00000000:0000 0A " REST, "tcp", "");
	assert_inet("   0: 01:1F90 00000000:0000 0A " REST, "tcp", "");
	assert_inet("   0: 0100007F: 00000000:0000 0A " REST, "tcp", "");
	assert_inet("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000", "tcp", "");
}

static void assert_unix(const char *line, const char *want)
{
	char got[SOCKET_TEXT_BYTES] = "";

	assert_int_equal(socket_unix_line(line, 1184, got), *want != 0);
	assert_string_equal(got, want);
}

static void test_unix(void **state)
{
	char line[512] = "0000000000000000: 00000003 00000000 00000000 0001 03 1184 /";

	assert_unix("0000000000000000: 00000002 00000000 00010000 0001 01 1184 /run/a b.sock\n",
		    "unix /run/a b.sock");
	assert_unix("0000000000000000: 00000003 00000000 00000000 0001 03 1184\n", "unix");
	assert_unix("0000000000000000: 00000003 00000000 00000000 0001 03 1184 @abstract\n",
		    "unix @abstract");
	assert_unix("0000000000000000: 00000003 00000000 00000000 0001 03 11845 /x\n", "");
	assert_unix("Num       RefCount Protocol Flags    Type St Inode Path\n", "");
	assert_unix("", "");
	memset(line + strlen(line), 'x', 400);
	{
		char got[SOCKET_TEXT_BYTES];

		assert_true(socket_unix_line(line, 1184, got));
		assert_int_equal(strlen(got), SOCKET_TEXT_BYTES - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inet),
		cmocka_unit_test(test_not_inet),
		cmocka_unit_test(test_unix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
