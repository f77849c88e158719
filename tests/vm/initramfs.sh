# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The initramfs of the test machine: busybox and the distribution's Python, from their packages. It
# is made once. For each run, the programs under test and their script are appended to it (a kernel
# unpacks archives that follow each other). It needs no kernel modules, because the machine has no
# disk. Sourced after kernels.sh.

initramfs_prune="./usr/share/doc ./usr/share/man ./usr/share/locale ./usr/share/info
	./usr/share/perl5 ./usr/share/zoneinfo"

# initramfs_base NAME SUITE PACKAGE...: prints the path of an archive with these packages. The
# archive is made only once.
initramfs_base() {
	local base=$VM_CACHE/$1.cpio suite=$2 root=$VM_CACHE/root python
	shift 2
	if [ ! -s "$base" ]; then
		apt_root "$VM_CACHE/apt-$suite" "$suite" >&2
		rm -rf "$root"
		apt_unpack "$root" busybox-static "$@" >&2
		for python in "$root"/usr/lib/python3.*; do
			compile_library "$root" "${python##*/}" >&2
		done
		initramfs_pack "$root" >"$base.new"
		mv "$base.new" "$base"
		rm -rf "$root"
	fi
	echo "$base"
}

# Compiles the standard library. Packages do this when they are configured, but these packages are
# only unpacked. Only a Python of the same version can compile it: the host's or a test interpreter.
# Without such a Python, Python in the machine starts slowly. The compiled files don't check the
# times of the sources, because newer kernels give the files of an initramfs new times.
compile_library() {
	local python
	for python in "/usr/bin/$2" "$KRAIT_TEST_CACHE/bin/$2-sid"; do
		[ -x "$python" ] || continue
		"$python" -m compileall -q -s "$1" -p / --invalidation-mode unchecked-hash \
			"$1/usr/lib/$2"/{*.py,encodings,importlib,collections,json,re,ctypes} || true
		return 0
	done
}

# initramfs_pack ROOT: writes ROOT as an archive to stdout.
initramfs_pack() {
	local path prune=()
	for path in $initramfs_prune; do
		prune+=(-path "$path" -prune -o)
	done
	( cd "$1" && find . "${prune[@]}" -print0 | sort -z | cpio -0 -o -H newc --quiet )
}

# initramfs_make OUT BASE DIR: writes OUT, which has the archive BASE, then the guest's scripts,
# krait if there is one, and the files in DIR.
initramfs_make() {
	local over
	over=$(mktemp -d)
	mkdir -p "$over/t"
	cp -a "$VM_DIR"/guest/. "$over/t/"
	mv "$over/t/init" "$over/init"
	chmod +x "$over/init"
	[ ! -x "$VM_KRAIT" ] || cp "$VM_KRAIT" "$over/t/krait"
	cp -a "$3/." "$over/t/"
	{ cat "$2"; initramfs_pack "$over"; } >"$1"
	rm -rf "$over"
}

# bpf_objects: prints the paths of the BPF objects that belong to the binary under test, else those
# of the default build.
bpf_objects() {
	local dir
	for dir in "$(dirname "$VM_KRAIT")/bpf/events" "$VM_OBJECTS"; do
		if compgen -G "$dir/*.bpf.o"; then
			return 0
		fi
	done
}
