# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # the scripts beside this one use these variables
# The two kinds of machine: x86-64, and arm64 with a cross-compiled krait. Sourced.
#
# Machines are emulated even if there is /dev/kvm: emulation takes only seconds, and qemu aborts
# if a nested KVM lacks a register (seen: MSR 0x10a with -cpu max).

# machine_of SPEC: sets all variables that depend on the architecture.
machine_of() {
	case $1 in
	arm64:*) machine_arm64 ;;
	*) machine_amd64 ;;
	esac
	APT_ARCH=$VM_ARCH
}

machine_amd64() {
	VM_ARCH=amd64 VM_CACHE=$KRAIT_TEST_CACHE/vm
	VM_KRAIT=${KRAIT:-$VM_DIR/../../build/static/krait}
	VM_OBJECTS=$VM_DIR/../../build/release/bpf/events
	VM_BUILD="make STATIC=1"
	# Without cx16, because qemu 7.2 now and then confuses the flags of cmpxchg16b (seen: 6.12
	# paniced in its allocator while it booted, and RFLAGS contained a piece of RAX).
	VM_QEMU=(qemu-system-x86_64 -accel "tcg,thread=multi" -cpu "max,-cx16")
	VM_CONSOLE=ttyS0
}

machine_arm64() {
	VM_ARCH=arm64 VM_CACHE=$KRAIT_TEST_CACHE/vm-arm64
	VM_KRAIT=${KRAIT_ARM64:-$VM_DIR/../../build/aarch64-linux-gnu/krait}
	VM_OBJECTS=$VM_DIR/../../build/aarch64-linux-gnu/bpf/events
	VM_BUILD="tests/setup/cross-arm64.sh"
	# pauth-impdef, because emulating the architecture's own pointer authentication would cost
	# half of the speed.
	VM_QEMU=(qemu-system-aarch64 -M virt -accel "tcg,thread=multi" -cpu "max,pauth-impdef=on")
	VM_CONSOLE=ttyAMA0
}

# machine_take: locks the folder of the machine's kernels and logs for this run, because two runs
# would disturb each other.
machine_take() {
	mkdir -p "$VM_CACHE/log"
	exec 9>"$VM_CACHE/lock"
	flock 9
}

# machine_needs: prints the Debian packages that are needed to run the machine.
machine_needs() {
	case $VM_ARCH in
	amd64) need qemu-system-x86_64 qemu-system-x86 ;;
	arm64) need qemu-system-aarch64 qemu-system-arm ;;
	esac
	need cpio cpio
	need /usr/bin/python3 python3
}

# guest_build OUT SOURCE: compiles a C file of this folder into a program for the machine.
guest_build() {
	local source=$VM_DIR/$2
	# shellcheck disable=SC2046 # each word is a flag of its own
	case $VM_ARCH in
	amd64) gcc -O2 -static -o "$1" "$source" $(pkg-config --static --libs libbpf libelf) ;;
	arm64) "$SETUP_DIR/cross-arm64.sh" cc -o "$1" "$source" ;;
	esac
}

# boot VMLINUZ OUT JOB [WORD...]: starts the machine, which runs JOB, for $VM_LIMIT_S at most. The
# WORDs are added to the kernel's command line. Everything that the machine prints is written to
# OUT.console.
boot() {
	timeout "$VM_LIMIT_S" "${VM_QEMU[@]}" -smp 2 -m "$VM_MEMORY" -display none -no-reboot -nodefaults \
		-serial "file:$2.console" -kernel "$1" -initrd "$2.cpio" \
		-append "console=$VM_CONSOLE quiet panic=-1 rdinit=/init job=${*:3}" </dev/null >"$2.qemu" 2>&1 ||
		echo "qemu ended with $?" >>"$2.qemu"
}
