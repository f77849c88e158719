#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hardening.sh: the shipped programs are hardened against faults in parsers. The test reads that
# from the programs, with readelf and from their code, and not from the compiler's flags. Needs
# build/release and, if it is built, build/static.
set -uo pipefail
cd "$(dirname "$0")/../.."
bad=0
check() { # check NAME COMMAND...: prints PASS if the command succeeds, else FAIL
	local name=$1; shift
	if "$@"; then echo "PASS hardening $name"; else echo "FAIL hardening $name: see the log"; bad=1; fi
}
has() { grep -E "$1" >/dev/null; } # has REGEX: succeeds if its standard input matches

program=${KRAIT:-build/release/krait}
pie() { readelf -hW "$1" | has 'Type: *DYN'; }
relro() { readelf -lW "$1" | has 'GNU_RELRO'; }
now() { readelf -dW "$1" | has 'FLAGS_1.*NOW'; }
no_writable_code() { ! readelf -lW "$1" | has '(LOAD|GNU_STACK).* RWE'; }
for p in "$program" build/static/krait; do
	which=$(basename "$(dirname "$p")")
	[ -f "$p" ] || { echo "SKIP hardening $which: it isn't built"; continue; }
	check "$which-position-independent" pie "$p"
	check "$which-relro" relro "$p"
	check "$which-bound-at-start" now "$p"
	check "$which-no-writable-code" no_writable_code "$p"
done

# Only krait's own objects are checked, because others built the linked libraries. krait's objects
# must call the C library's checking functions, and the function that reports an overwritten stack.
objects=build/release/src
fortified() { find "$objects/cli" -name '*.o' -exec nm -A {} + | has 'U __(memcpy|snprintf|vsnprintf|read|pread64)_chk'; }
protected() { nm -A "$objects"/proc/*.o | has 'U __stack_chk_fail'; }
check fortified fortified
check stack-protector protected
if [ "$(uname -m)" = x86_64 ]; then
	# With -fcf-protection, a function that is called through a pointer begins with endbr64.
	landing() { objdump -d --no-show-raw-insn "$objects/cli/main.o" | has 'endbr64'; }
	check branch-targets landing
	# With -fstack-clash-protection, a stack frame of more than a page is touched page by page.
	# A function of this file has such a frame.
	probes() { objdump -d --no-show-raw-insn "$objects/unwind/prove/eh_return.o" | has 'or[ql] +\$0x0,(0x[0-9a-f]+)?\(%rsp'; }
	check stack-clash probes
fi
exit $bad
