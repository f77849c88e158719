#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A build with nothing to do does nothing; a changed header rebuilds what includes it, BPF too.
set -eu
cd "$(dirname "$0")/../.."
make >/dev/null
bad=0

check() { # NAME CONDITION-COMMAND...
	name=$1; shift
	if "$@"; then
		echo "PASS $name"
	else
		echo "FAIL $name: see the log"
		bad=1
	fi
}

# What make would do, without its own words.
todo() { make -n "$@" | grep -cE '(^|[ ;&])[a-z0-9_-]*(gcc|clang|ar|bpftool) ' || true; }
nothing_to_do() { [ "$(todo)" = 0 ]; }
rebuilds() { [ "$(todo -W "$1")" -gt 0 ]; }

check no-op-rebuild nothing_to_do
check header-rebuilds rebuilds src/base/util.h
check abi-header-rebuilds rebuilds abi/records.h
exit $bad
