#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# classes.sh: class names of methods up to 3.10, where code objects have no qualified name: krait's
# proof from the first argument against what the program itself knows.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/setup/interpreters-lib.sh

TOOL=build/release/tests/tools/classes
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

build() {
	make -s build/release/libkrait.a >/dev/null
	mkdir -p "$(dirname $TOOL)"
	${CC:-gcc} -std=gnu17 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -Isrc -Iabi -Itests/tools \
		-o $TOOL tests/tools/classes.c build/release/libkrait.a -lelf -lz
}

check() { # NAME PATH
	local line
	coproc target { exec "$2" tests/oracle/classes.py 2>"$WORK/err"; }
	: >"$WORK/cases"
	while IFS= read -r line <&"${target[0]}" && [ "$line" != ready ]; do
		printf '%s\n' "$line" >>"$WORK/cases"
	done
	cut -d' ' -f1,2 "$WORK/cases" | $TOOL "$target_PID" >"$WORK/got" 2>>"$WORK/err" || true
	eval "exec ${target[1]}>&-"
	wait "$target_PID" 2>/dev/null || true
	cut -d' ' -f3- "$WORK/cases" >"$WORK/want"
	if ! diff "$WORK/want" "$WORK/got" >"$WORK/diff" || [ ! -s "$WORK/want" ]; then
		echo "FAIL classes $1: names differ"; head -8 "$WORK/diff" "$WORK/err" | cut -c1-200
		return 1
	fi
	echo "PASS classes $1: $(wc -l <"$WORK/want") names"
}

main() {
	local bad=0 name path
	build
	[ -s "$INTERPRETERS_TSV" ] || { echo "SKIP classes: no test interpreters"; return 0; }
	while IFS=$'\t' read -r name path; do
		check "$name" "$path" || bad=1
	done < <(awk -F '\t' '$2 ~ /^(2\.7|3\.[6-9]|3\.10)\./ { print $1 "\t" $4 }' "$INTERPRETERS_TSV")
	return $bad
}

main "$@"
