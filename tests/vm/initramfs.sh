# SPDX-License-Identifier: BSD-2-Clause
# The initramfs: busybox and the distribution's Python as its packages have them, made once;
# then what is under test and its script, appended each time (a kernel unpacks archives that
# follow each other). No modules are needed, as there is no disk. Sourced after kernels.sh.

initramfs_prune="./usr/share/doc ./usr/share/man ./usr/share/locale ./usr/share/info
	./usr/share/perl5 ./usr/share/zoneinfo ./usr/lib/$MULTIARCH/gconv ./usr/lib/$MULTIARCH/perl-base"

# initramfs_base: prints the path of the archive that stays the same.
initramfs_base() {
	local base=$VM_CACHE/base.cpio suite root=$VM_CACHE/root
	if [ ! -s "$base" ]; then
		suite=$(. /etc/os-release; echo "${VERSION_CODENAME:-sid}")
		apt_root "$VM_CACHE/apt-$suite" "$suite" >&2
		rm -rf "$root"
		apt_unpack "$root" python3 busybox-static >&2
		initramfs_pack "$root" >"$base.new"
		mv "$base.new" "$base"
		rm -rf "$root"
	fi
	echo "$base"
}

# initramfs_pack ROOT: ROOT as an archive on stdout.
initramfs_pack() {
	local path prune=()
	for path in $initramfs_prune; do
		prune+=(-path "$path" -prune -o)
	done
	( cd "$1" && find . "${prune[@]}" -print0 | sort -z | cpio -0 -o -H newc --quiet )
}

# initramfs_make KRAIT OUT: base, the krait binary and the guest's script.
initramfs_make() {
	local base over
	base=$(initramfs_base)
	over=$(mktemp -d)
	mkdir -p "$over/t"
	cp "$1" "$over/t/krait"
	cp "$VM_DIR/guest/init" "$over/init"
	cp "$VM_DIR/guest/prog.py" "$over/t/prog.py"
	chmod +x "$over/t/krait" "$over/init"
	{ cat "$base"; initramfs_pack "$over"; } >"$2"
	rm -rf "$over"
}
