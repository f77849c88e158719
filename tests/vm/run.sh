#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [[arm64:]5.10|6.1|6.12|newest|SERIES]...: boots these Debian cloud kernels in qemu. On each
# kernel it loads krait's BPF objects, profiles a program with the distribution's Python, and judges
# the result. Lines: PASS/FAIL/SKIP vm-KERNEL[-load]: ... ; exits with 1 if one of them is FAIL.
# KRAIT= (for arm64 KRAIT_ARM64=) names the binary, which has to be static; the logs stay in the
# cache, in vm/log.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

VM_LIMIT_S=${VM_LIMIT_S:-300} VM_MEMORY=1024

main() {
	local spec bad=0
	[ $# -gt 0 ] || set -- 5.10 6.1 6.12 newest
	for spec; do
		one "$spec" || bad=1
	done
	return $bad
}

# prepare SERIES OUT: makes the machine's files. If it can't, its last line on stderr says why.
prepare() {
	local suite base over object
	machine_needs
	[ -x "$VM_KRAIT" ] || [ -n "$(bpf_objects)" ] || fail "nothing is built ($VM_BUILD)"
	kernel_get "$1" >"$2.image"
	over=$(mktemp -d)
	cp "$VM_DIR/../e2e/rights/planted.py" "$over/"
	for object in $(bpf_objects); do
		cp "$object" "$over/"
		[ -x "$over/verify" ] || guest_build "$over/verify" verify.c
	done
	# Under emulation the newest kernel's verifier takes long, each time that a recording
	# begins. So in the fast tier, the machine makes only one recording on that kernel, and the
	# others on the oldest kernel.
	[ "$1" != newest ] || [ -n "${KRAIT_TEST_FULL:-}" ] || touch "$over/brief"
	suite=$(. /etc/os-release; [ "$ID" = debian ] && echo "${VERSION_CODENAME:-sid}" || echo bookworm)
	base=$(initramfs_base base "$suite" python3)
	initramfs_make "$2.cpio" "$base" "$over"
	rm -rf "$over"
}

one() {
	local rc out
	machine_of "$1"
	machine_take
	out=$VM_CACHE/log/${1##*:}
	rm -f "$out".*
	# This isn't the condition of an `if`, because then errexit would be off in everything that
	# prepare calls.
	set +e
	( set -e; prepare "${1##*:}" "$out" ) >"$out.setup" 2>&1
	rc=$?
	set -e
	if [ $rc != 0 ]; then
		echo "SKIP vm-$1: $(tail -n 1 "$out.setup")"
		return 0
	fi
	boot "$(cat "$out.image")" "$out" profile
	if ! grep -aq '^KERNEL ' "$out.console"; then
		mv "$out.console" "$out.console.first"
		echo "vm-$1: the emulated machine never got to init, once more ($out.console.first)"
		boot "$(cat "$out.image")" "$out" profile
	fi
	rm -f "$out.cpio"
	/usr/bin/python3 "$VM_DIR/judge.py" "vm-$1" "$out.console"
}

main "$@"
