# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The distribution's own Python: its executable as installed; its debug build and shared
# library unpacked beside it, so that the machine's own packages stay as they are. Sourced.

setup_distribution() {
	[ -x /usr/bin/python3 ] || need /usr/bin/python3 python3
	register python3-dist static /usr/bin/python3
}

salt_distribution() { readlink -f /usr/bin/python3 || true; }

# The debug build, the library and the standard library must have one version: all are unpacked into
# a root of their own.
setup_distribution_extra() {
	local minor library root=$KRAIT_TEST_CACHE/dist
	minor=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	library=libpython$minor
	# Takes the name that Ubuntu has used since 24.04; the old one is known there, but has no
	# version.
	[[ $(apt-cache policy "$library") == *'Candidate: '[0-9]* ]] || library+=t64
	need gcc gcc
	rm -rf "$root/debs"
	mkdir -p "$root/debs"
	merged_usr "$root/root"
	( cd "$root/debs" && apt-get -q -o APT::Sandbox::User=root download \
		"python$minor-dbg" "$library-dbg" "$library" \
		"libpython$minor-stdlib" "libpython$minor-minimal" "python$minor-minimal" )
	dpkg_unpack "$root/root" "$root"/debs/*.deb
	rm -rf "$root/debs"
	register python3-dist-dbg dbg "$root/root/usr/bin/python$minor-dbg"
	embed_linked python3-dist "$root/root" "$minor" ""
}
