# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The initramfs: busybox and the distribution's Python as its packages have them, made once;
# then what is under test and its script, appended each time (a kernel unpacks archives that
# follow each other). No modules are needed, as there is no disk. Sourced after kernels.sh.

initramfs_prune="./usr/share/doc ./usr/share/man ./usr/share/locale ./usr/share/info
	./usr/share/perl5 ./usr/share/zoneinfo"

# initramfs_base: prints the path of the archive that stays the same.
initramfs_base() {
	local base=$VM_CACHE/base.cpio suite root=$VM_CACHE/root
	if [ ! -s "$base" ]; then
		suite=$(. /etc/os-release; [ "$ID" = debian ] && echo "${VERSION_CODENAME:-sid}" || echo bookworm)
		apt_root "$VM_CACHE/apt-$suite" "$suite" >&2
		rm -rf "$root"
		apt_unpack "$root" python3 busybox-static >&2
		compile_library "$root" >&2
		initramfs_pack "$root" >"$base.new"
		mv "$base.new" "$base"
		rm -rf "$root"
	fi
	echo "$base"
}

# The packages compile the standard library when they're configured, which they never are here.
# Only the host's own Python of the same version can do it; without, the machine starts slowly.
# Unchecked: newer kernels give the files of an initramfs new times.
compile_library() {
	local minor
	minor=$(/usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
	[ ! -d "$1/usr/lib/$minor" ] || /usr/bin/python3 -m compileall -q -s "$1" -p / \
		--invalidation-mode unchecked-hash \
		"$1/usr/lib/$minor"/{*.py,encodings,importlib,collections,json} || true
}

# initramfs_pack ROOT: ROOT as an archive on stdout.
initramfs_pack() {
	local path prune=()
	for path in $initramfs_prune; do
		prune+=(-path "$path" -prune -o)
	done
	( cd "$1" && find . "${prune[@]}" -print0 | sort -z | cpio -0 -o -H newc --quiet )
}

# initramfs_make OUT: base, then the guest's script, krait and the BPF objects, each if it's there.
initramfs_make() {
	local base over object
	base=$(initramfs_base)
	over=$(mktemp -d)
	mkdir -p "$over/t"
	cp "$VM_DIR/guest/init" "$over/init"
	cp "$VM_DIR"/guest/*.py "$over/t/"
	chmod +x "$over/init"
	[ ! -x "$VM_KRAIT" ] || cp "$VM_KRAIT" "$over/t/krait"
	for object in $(bpf_objects); do
		cp "$object" "$over/t/"
		[ -x "$over/t/verify" ] || verifier_build "$over/t/verify"
	done
	{ cat "$base"; initramfs_pack "$over"; } >"$1"
	rm -rf "$over"
}

# bpf_objects: those that belong to the binary under test, else the default build's.
bpf_objects() {
	local dir
	for dir in "$(dirname "$VM_KRAIT")/bpf" "$VM_OBJECTS"; do
		if compgen -G "$dir/*.bpf.o"; then
			return 0
		fi
	done
}
