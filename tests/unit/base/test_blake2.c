/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares BLAKE2b with Python's hashlib: hashlib.blake2b(bytes(i % 251 for i in range(n)),
 * digest_size=32).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/blake2.h"

static const struct {
	size_t n;
	const char *hex;
} known[] = {
	{0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
	{1, "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314"},
	{127, "f2fe67ff342e21b8f45e8f2e0bcd1d9243245d50ee6c78042e9c491388791c72"},
	{128, "c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1"},
	{129, "f7f3c46ba2564ff4c4c162da1f5b605f9f1c4aa6a20652a9f9a337c1a2f5b9c9"},
	{255, "d9ef0fc521b4266d16df662bec231bc2ec3989e7adeaf63169c295dc239dbbea"},
	{256, "582f782226018ec33076bd8d1c42413530ac7e1126260ffc0f306ba3befc3f24"},
	{257, "227e15ed64ee8e93eb7bc53828f76eed974f2c4ab1408c3d08f212b7f8d69904"},
	{1000, "b372d0608f720c8c3dd41e9c8eecb10143b41abe520b616607e754bf79c08331"},
	{4096, "11c294a11dc67e3ddb25f8c06cca2721e58d2a044243abea6c7063fd17d589e5"},
};

static void hash(size_t n, size_t step, char hex[static 2 * BLAKE2_BYTES + 1])
{
	uint8_t bytes[4096], result[BLAKE2_BYTES];
	struct blake2 b;

	for (size_t i = 0; i < n; i++)
		bytes[i] = i % 251;
	blake2_init(&b);
	for (size_t i = 0; i < n; i += step)
		blake2_add(&b, bytes + i, MIN(step, n - i));
	blake2_end(&b, result);
	for (size_t i = 0; i < BLAKE2_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", result[i]);
}

static void test_known(void **state)
{
	char hex[2 * BLAKE2_BYTES + 1];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		for (size_t step = 1; step < 300; step += 7) {
			hash(known[i].n, step, hex);
			assert_string_equal(hex, known[i].hex);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_known)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
