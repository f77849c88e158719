#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# preempt.sh [6.12|newest|SERIES]: tests samples that fexit programs take, while a timer also takes
# samples, on an emulated kernel that is preemptible (preempt=full). preempt_judge.py says what must
# hold for these samples. Prints PASS/FAIL/SKIP vm-preempt...; the log stays in the cache, in
# vm/log.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

VM_LIMIT_S=${VM_LIMIT_S:-420} VM_MEMORY=1024

prepare() {
	local base over
	machine_needs
	kernel_get "$1" >"$2.image"
	over=$(mktemp -d)
	guest_build "$over/preempt.bin" preempt.c
	base=$(initramfs_base base bookworm python3)
	initramfs_make "$2.cpio" "$base" "$over"
	rm -rf "$over"
}

main() {
	local out rc
	cd "$VM_DIR/../.."
	if ! flock Makefile make -s STATIC=1 build/static/tests/vm/krait-preempt; then
		echo "FAIL vm-preempt: its krait can't be built"
		return 1
	fi
	machine_of "${1:-6.12}"
	machine_take
	VM_KRAIT=$VM_DIR/../../build/static/tests/vm/krait-preempt
	out=$VM_CACHE/log/preempt-${1:-6.12}
	rm -f "$out".*
	set +e
	( set -e; prepare "${1:-6.12}" "$out" ) >"$out.setup" 2>&1
	rc=$?
	set -e
	if [ $rc != 0 ]; then
		echo "SKIP vm-preempt: $(tail -n 1 "$out.setup")"
		return 0
	fi
	boot "$(cat "$out.image")" "$out" preempt preempt=full
	rm -f "$out.cpio"
	/usr/bin/python3 -B "$VM_DIR/preempt_judge.py" "$out.console"
}

main "$@"
