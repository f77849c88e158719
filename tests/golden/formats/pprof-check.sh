#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Compares pprof files, as Go's pprof and protoc read them, with sums that tests/tools/pprof itself
# made.
set -euo pipefail
cd "$(dirname "$0")/../../.."
tool=build/release/tests/tools/pprof
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flock Makefile make -s build/release/libkrait.a >/dev/null
mkdir -p "$(dirname $tool)"
${CC:-gcc} -std=gnu17 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -Iabi -Isrc \
	-o $tool tests/tools/pprof.c build/release/libkrait.a -lz -lzstd
python3 tests/golden/formats/pprof-check.py $tool "$work"
