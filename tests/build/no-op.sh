#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A build with nothing to do does nothing. A changed header makes the objects that include it be
# built again, BPF objects as well.
set -u
cd "$(dirname "$0")/../.." || exit 1
make >/dev/null || exit 1
# sets the version once, because a commit meanwhile would count as a change
version=$(cat build/release/version)
build() { make VERSION="$version" "$@"; }
bad=0
mark=build/release/no-op-mark

# since: prints the files below build/release that are newer than the file $mark.
since() { find build/release -newer "$mark" -type f ! -name "${mark##*/}"; }
set_mark() { sleep 0.05; touch "$mark"; sleep 0.05; }

# verdict NAME REASON: prints PASS if the command before it succeeded, else FAIL with REASON
verdict() {
	if [ $? = 0 ]; then
		echo "PASS $1"
	else
		echo "FAIL $1: $2"
		bad=1
	fi
}

set_mark
output=$(build 2>&1)
made=$(since)
[ -z "$output$made" ]
verdict no-op-rebuild "made: $output $made"

# rebuilds NAME HEADER OBJECT: checks that OBJECT is built again if HEADER has changed
rebuilds() {
	set_mark
	build -W "$2" "build/release/$3" >/dev/null
	since | grep -x "build/release/$3" >/dev/null
	verdict "$1" "$3 wasn't made again for a changed $2"
}
rebuilds rebuild-for-header src/base/util.h src/base/error.o
rebuilds rebuild-for-abi abi/records.h bpf/events/sample.bpf.o
rm -f "$mark"
exit $bad
