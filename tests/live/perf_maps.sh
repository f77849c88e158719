#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# perf_maps.sh: tests the names of the trampolines that CPython makes with -X perf (3.12) and -X
# perf_jit (3.13). krait reads them from the perf map or the jitdump; the right names follow from
# the order in which the functions called each other.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools/lib.sh

check_mode() { # NAME PATH MODE
	local pid order
	truth_start "$WORK/truth" "$2" -B -X "$3" tests/live/perf_maps.py
	pid=$(head -n 1 "$WORK/truth")
	if [ -z "$pid" ]; then
		truth_stop
		echo "FAIL perf-maps $1 $3: $(tail -n 1 "$WORK/err")"
		return 1
	fi
	sed 1d "$WORK/truth" | $TOOL perf-map "$pid" >"$WORK/names"
	truth_stop
	rm -f /tmp/perf-"$pid".map /tmp/jit-"$pid".dump
	order=$(grep -oE ' py::(gamma_stäck|Béta.beta|alpha):.*/perf_maps.py$' "$WORK/names" |
		cut -d: -f3 | tail -n 3 | tr '\n' ' ')
	if [ "$order" != "gamma_stäck Béta.beta alpha " ] || grep -q -e ' -$' "$WORK/names"; then
		echo "FAIL perf-maps $1 $3: '$order', $(grep -c -e ' -$' "$WORK/names") without a name"
		return 1
	fi
	echo "PASS perf-maps $1 $3: $(wc -l <"$WORK/names") return addresses, 0 without a name"
}

check() { # NAME PATH
	if ! "$2" -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null; then
		echo "SKIP perf-maps $1: built without trampolines"
		return 0
	fi
	check_mode "$1" "$2" perf || return 1
	# -X perf_jit exists since 3.13
	if "$2" -c 'import sys; sys.exit(sys.version_info < (3, 13))'; then
		check_mode "$1" "$2" perf_jit
	fi
}

[ "$(uname -m)" = x86_64 ] || { echo "SKIP perf-maps: x86-64 only"; exit 0; }
tool_build names
each_interpreter perf-maps '$2 ~ /^3\.1[2-9]/ && $3 != "pypy" && $3 != "chroot"' check
