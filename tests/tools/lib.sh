# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Functions for tests that compare a tool of tests/tools with Python programs of every version. They
# build the tool and start the program, which prints the right answers, then "ready", and runs until
# the end of its standard input. Source this file in the repository's root, with set -euo pipefail.
. tests/setup/interpreters-lib.sh

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# tool_build NAME: builds a tool of tests/tools and sets TOOL to its path.
tool_build() {
	TOOL=build/release/tests/tools/$1
	flock Makefile make -s build/release/libkrait.a >/dev/null
	mkdir -p "$(dirname "$TOOL")"
	${CC:-gcc} -std=gnu17 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -Isrc -Iabi -Itests/tools \
		-o "$TOOL" "tests/tools/$1.c" build/release/libkrait.a -ldw -lelf -lz -liberty -llzma -lcap
}

# For python -c: prints the path of the file that contains the interpreter: a shared library, or the
# program.
# shellcheck disable=SC2034
INTERPRETER_FILE='import os
for line in open("/proc/self/maps"):
    if "/libpython" in line:
        print(line.split()[-1])
        break
else:
    print(os.readlink("/proc/self/exe"))'

# truth_start FILE COMMAND...: writes to FILE what COMMAND prints before "ready". COMMAND goes on
# running, with the pid $truth_PID.
truth_start() {
	local file=$1 line; shift
	coproc truth { exec "$@" 2>"$WORK/err"; }
	: >"$file"
	while IFS= read -r line <&"${truth[0]}" && [ "$line" != ready ]; do
		printf '%s\n' "$line" >>"$file"
	done
}

truth_stop() {
	eval "exec ${truth[1]}>&-"
	wait "$truth_PID" 2>/dev/null || true
}

# each_interpreter TEST CONDITION FUNCTION: calls FUNCTION NAME PATH for each test interpreter that
# fits CONDITION (in awk: $1 name, $2 version, $3 kind, $4 path). Fails if any of the calls fails.
each_interpreter() {
	local bad=0 name path
	[ -s "$INTERPRETERS_TSV" ] || { echo "SKIP $1: no test interpreters"; return 0; }
	while IFS=$'\t' read -r -u 3 name path; do
		"$3" "$name" "$path" || bad=1
	done 3< <(awk -F '\t' "$2"' { print $1 "\t" $4 }' "$INTERPRETERS_TSV")
	return $bad
}
