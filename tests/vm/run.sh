#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [5.10|6.1|6.12|newest|SERIES]...: boot these Debian cloud kernels in qemu, load the BPF
# objects, profile a program of the distribution's Python and judge what came out. Lines:
# PASS/FAIL/SKIP vm-KERNEL[-load]: ... ; exits 1 if one failed. KRAIT= names the binary (it has to
# be linked statically); the logs stay in the cache's vm/log.
set -euo pipefail
VM_DIR=$(cd "$(dirname "$0")" && pwd)
. "$VM_DIR/../setup/common.sh"
. "$VM_DIR/../setup/apt.sh"
. "$VM_DIR/kernels.sh"
. "$VM_DIR/initramfs.sh"

KRAIT=${KRAIT:-$VM_DIR/../../build/static/krait}
VM_LIMIT_S=${VM_LIMIT_S:-150}

main() {
	local kernels=("$@") kernel reason bad=0
	[ $# -gt 0 ] || kernels=(5.10 6.1 6.12 newest)
	mkdir -p "$VM_CACHE/log"
	reason=$(lacking 2>&1) || true
	for kernel in "${kernels[@]}"; do
		if [ -n "$reason" ]; then
			echo "SKIP vm-$kernel: $reason"
		else
			one "$kernel" || bad=1
		fi
	done
	return $bad
}

# lacking: what stands in the way of all of them, on stdout; nothing if nothing does.
lacking() {
	[ "$(uname -m)" = x86_64 ] || { echo "only for x86-64 hosts as yet"; return; }
	[ -x "$KRAIT" ] || [ -n "$(bpf_objects)" ] ||
		{ echo "nothing is built (make STATIC=1)"; return; }
	need qemu-system-x86_64 qemu-system-x86
	need cpio cpio
	debian_mirror >/dev/null
}

one() {
	local image rc out=$VM_CACHE/log/$1
	rm -f "$out".*
	# Not in an `if`: errexit would be off in all that these call.
	set +e
	( set -e; image=$(kernel_get "$1"); echo "$image" >"$out.image"
	  initramfs_make "$out.cpio" ) >"$out.setup" 2>&1
	rc=$?
	set -e
	if [ $rc != 0 ]; then
		echo "SKIP vm-$1: $(tail -n 1 "$out.setup")"
		return 0
	fi
	boot "$(cat "$out.image")" "$out"
	rm -f "$out.cpio"
	/usr/bin/python3 "$VM_DIR/judge.py" "vm-$1" "$out.result" "$out.console"
}

# Emulated even where /dev/kvm is: it takes seconds, and a nested KVM that lacks a register aborts
# qemu (seen: MSR 0x10a with -cpu max).
# boot VMLINUZ OUT: the machine's two serial lines go to OUT.console and OUT.result.
boot() {
	timeout "$VM_LIMIT_S" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1024 \
		-display none -no-reboot -nodefaults \
		-serial "file:$2.console" -serial "file:$2.result" \
		-kernel "$1" -initrd "$2.cpio" \
		-append "console=ttyS0 quiet panic=-1 rdinit=/init" </dev/null >"$2.qemu" 2>&1 ||
		echo "qemu ended with $?" >>"$2.qemu"
}

main "$@"
