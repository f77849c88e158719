#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# no-bpf.sh: `make BPF=no` needs no tool or library for BPF or ELF files, and builds a krait that
# reads profiles.
set -uo pipefail
cd "$(dirname "$0")/../.."
krait=build/nobpf/krait
bad=0
check() { # check NAME COMMAND...: prints PASS if the command succeeds, else FAIL
	local name=$1; shift
	if "$@" >build/no-bpf.log 2>&1; then
		echo "PASS no-bpf $name"
	else
		tail -n 20 build/no-bpf.log
		echo "FAIL no-bpf $name"
		bad=1
	fi
}
profile=tests/golden/go-cpu.pb.gz
none() { ! "$@"; }
# Compares this build's report with that of the full krait, which tests/golden/report/report.py
# checks.
same_report() { cmp <("$krait" report "$profile") <(build/release/krait report "$profile"); }
merges() { "$krait" merge "$profile" "$profile" --format pprof -o - | "$krait" diff "$profile" -; }
# Exit code 3 says that this build lacks the command, not that the command line is wrong.
says_why() {
	local words rc=0
	words=$("$krait" "$@" 2>&1) || rc=$?
	echo "$rc: $words"
	[ $rc = 3 ] && [[ $words == *"built without BPF"* ]]
}

check builds make -j"$(nproc)" BPF=no CLANG=false BPFTOOL=false
# The .d file beside each object lists the sources and headers that it was compiled from.
made_of() { make -s BPF=no CLANG=false BPFTOOL=false objects | sed 's/\.o$/.d/' | xargs cat; }
check sources-known grep -F src/cli/main.c <(made_of)
check headers none grep -E 'bpf/(bpf|libbpf)\.h|libelf\.h|gelf\.h|elfutils/|\.skel\.h' <(made_of)
check libraries none grep -E 'lib(bpf|elf|dw)\.' <(ldd "$krait")
check report same_report
check merge-and-diff merges
check record says_why record -- true
check no-command says_why -p 1
check top says_why top
exit $bad
