#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# function-parts.sh: checks to which functions krait assigns the parts that a compiler has put
# elsewhere (X.cold), in stripped interpreters; the truth is the symbols in their debug files.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tests/tools/lib.sh

check() { # check NAME PATH: checks the parts of functions in the file PATH
	local file id debug
	file=$("$2" -W ignore -c "$INTERPRETER_FILE") || { echo "FAIL function-parts $1: it doesn't run"; return 1; }
	id=$(readelf -n "$file" | awk '/Build ID/ { print $3 }')
	debug=$(find "$(dirname "$INTERPRETERS_TSV")" -path "*/.build-id/${id:0:2}/${id:2}.debug" -print -quit)
	if [ -z "$debug" ]; then
		echo "SKIP function-parts $1: it has no debug file"
		return 0
	fi
	python3 -B tests/golden/symbols/function-parts.py "$TOOL" "$1" "$file" "$debug"
}

tool_build function_parts
each_interpreter function-parts '$1 ~ /^python3\.1[345]-sid$|^python3-dist-shared$/' check
