#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# method-names.sh: compares the names that krait reads out of a stripped interpreter's tables with
# the symbols of the file before it was stripped, for every interpreter of this machine that has
# symbols.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tests/tools/lib.sh

check() { # check NAME PATH: checks the names that krait reads out of the interpreter PATH
	local file
	file=$("$2" -W ignore -c "$INTERPRETER_FILE") || { echo "FAIL method-names $1: it doesn't run"; return 1; }
	if [ "$(nm "$file" 2>/dev/null | wc -l)" = 0 ]; then
		echo "SKIP method-names $1: it has no symbols to compare with"
		return 0
	fi
	strip -o "$WORK/stripped" "$file"
	python3 -B tests/golden/symbols/method-names.py "$TOOL" "$1" "$file" "$WORK/stripped"
}

tool_build method_names
each_interpreter method-names '$3 != "pypy" && $3 != "chroot"' check
