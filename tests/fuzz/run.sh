#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [SECONDS]: runs every fuzzer for SECONDS (by default 1; with KRAIT_TEST_FULL 600),
# beginning with its seeds (tests/fuzz/pack.py). New inputs go to build/fuzz/corpus/, inputs that
# crash a fuzzer to build/fuzz/crash/. The fast tier tries the same inputs each time, so that it
# fails only after a change, and not by chance. The full tier looks for new inputs.
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-1} seed=1
[ -z "${KRAIT_TEST_FULL:-}" ] || seconds=${1:-600} seed=0 # seed 0: a random one
mkdir -p build/fuzz/crash
flock Makefile make -j"$(nproc)" fuzzers >build/fuzz/make.log 2>&1 || { cat build/fuzz/make.log; echo "FAIL fuzz: can't build"; exit 1; }
python3 -B tests/fuzz/pack.py unpack || { echo "FAIL fuzz: no seeds"; exit 1; }
bad=0
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	seeds=build/fuzz/seeds/$name
	mkdir -p "build/fuzz/corpus/$name"
	[ -n "$(ls "$seeds")" ] || { echo "FAIL $name: it has no seeds"; bad=1; continue; }
	if build/asan/tests/fuzz/"$name" -max_total_time="$seconds" -seed=$seed -timeout=10 -rss_limit_mb=1024 \
		-print_final_stats=1 -artifact_prefix=build/fuzz/crash/"$name"- \
		"build/fuzz/corpus/$name" "$seeds" >build/fuzz/"$name".log 2>&1; then
		echo "PASS $name ($(sed -n 's/^stat::number_of_executed_units: *//p' build/fuzz/"$name".log) inputs)"
	else
		tail -n 40 build/fuzz/"$name".log
		echo "FAIL $name: see build/fuzz/crash"
		bad=1
	fi
done
exit $bad
