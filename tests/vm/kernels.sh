# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Debian's cloud kernels by series ("5.10", "newest"), found in the package lists, fetched
# once. Sourced after machine.sh (VM_ARCH, VM_CACHE), ../setup/common.sh and ../setup/apt.sh.

# Prints the suites that may have a series. Each suite has an apt state of its own, so if the mirror
# has dropped one, only the kernels that no other suite has are lost.
kernel_suites() {
	case $1 in
	5.10) echo bullseye ;;
	6.1) echo bookworm ;;
	6.12) echo trixie bookworm-backports ;;
	newest) echo experimental sid trixie-backports trixie ;;
	*) echo bullseye bookworm bookworm-backports trixie trixie-backports sid experimental ;;
	esac
}

# kernel_get SERIES: prints the path of a vmlinuz. A file with its version is beside it.
kernel_get() {
	local dir=$VM_CACHE/kernels/$1 suite
	if [ ! -s "$dir/vmlinuz" ]; then
		for suite in $(kernel_suites "$1"); do
			# A subshell of its own, or errexit would be off in all that is called here.
			kernel_from_suite "$1" "$suite" "$dir" >&2 && break
		done
	fi
	[ -s "$dir/vmlinuz" ] || fail "no cloud kernel $1 obtainable"
	echo "$dir/vmlinuz"
}

kernel_from_suite() {
	local release
	apt_root "$VM_CACHE/apt-$2" "$2" >/dev/null || return 1
	for release in $(kernel_releases "$1" | sed -n 1,6p); do
		kernel_unpack "$release" "$3" && return 0
	done
	return 1
}

# kernel_releases SERIES: prints the releases, newest first, as in "6.1.0-56".
kernel_releases() {
	local series=${1//./\\.}
	[ "$1" != newest ] || series='[0-9]+\.[0-9]+'
	apt_in_root apt-cache pkgnames linux- | sed -nE \
		"s/^linux-(image|binary)(-unsigned)?-($series([.-].*)?)-cloud-$VM_ARCH(-unsigned)?\$/\\3/p" |
		sort -Vur
}

# kernel_unpack RELEASE DIR. From 6.19 on linux-image-* is empty and linux-binary-* has the
# kernel; signed packages lag behind, unsigned ones are sometimes listed and not in the pool.
kernel_unpack() {
	local package image tmp=$2.new
	for package in "linux-binary-$1-cloud-$VM_ARCH" "linux-binary-unsigned-$1-cloud-$VM_ARCH" \
		"linux-image-$1-cloud-$VM_ARCH" "linux-image-$1-cloud-$VM_ARCH-unsigned"; do
		rm -rf "$tmp"
		mkdir -p "$tmp/root"
		( cd "$tmp" && apt_in_root apt-get download "$package" ) 2>/dev/null || continue
		dpkg -x "$tmp"/*.deb "$tmp/root" || continue
		image=$(find "$tmp/root" -name 'vmlinuz*' -size +1000k -print -quit)
		[ -n "$image" ] || continue
		mv "$image" "$tmp/vmlinuz"
		dpkg-deb -f "$tmp"/*.deb Version >"$tmp/version"
		echo "$1" >"$tmp/release"
		rm -rf "$tmp"/root "$tmp"/*.deb "$2"
		mv "$tmp" "$2"
		return 0
	done
	rm -rf "$tmp"
	return 1
}
