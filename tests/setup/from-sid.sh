# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Debian sid's interpreters, side by side with an older host: release and debug builds, the
# shared library in two embedding programs, PyPy. Sourced.
#
# They need sid's libc. If the loader were called to run them, /proc/PID/exe would be the loader;
# chroot needs root and hides the host's files. So the executables are copied, and the copies
# changed so that they name sid's loader and libraries (retarget.py). The unchanged ones are the
# *-chroot entries, which run in a mount namespace of their own.

SID=$KRAIT_TEST_CACHE/sid/root

setup_sid() {
	local minors minor
	need gcc gcc
	apt_root "$KRAIT_TEST_CACHE/sid/apt" sid
	minors=$(sid_minors)
	# Unpacked over what may be there: a test that runs now keeps its open files.
	# shellcheck disable=SC2046 # one word per package is meant
	apt_unpack "$SID" $(for minor in $minors; do echo "python$minor" "libpython$minor" \
		"libpython$minor-dev"; done)
	mkdir -p "$SID/host/bin"
	ln -sfn ../usr/lib "$SID/host/lib"
	ln -sfn "../usr/lib/$MULTIARCH" "$SID/host/l"
	for minor in $minors; do
		sid_release "$minor"
	done
}

# sid_minors: prints which 3.x sid has now.
sid_minors() {
	apt_in_root apt-cache pkgnames python3. | sed -n 's/^python\(3\.[0-9]*\)$/\1/p' | sort -V
}

sid_release() {
	sid_retarget "$SID/usr/bin/python$1" "$SID/host/bin/python$1"
	register "python$1-sid" static "$SID/host/bin/python$1"
	embed_linked "python$1-sid" "$SID" "$1" "$SID"
	embed_dlopen "python$1-sid" "$SID" "$1" "$SID"
}

# sid_retarget FROM TO: makes a copy that runs on this host.
sid_retarget() {
	/usr/bin/python3 "$SETUP_DIR/retarget.py" "$1" "$2" "$(echo "$SID"/usr/lib*/ld-linux-*.so.*)"
}

# This isn't possible for an ordinary user, nor where / is no mount point (a plain chroot).
setup_sid_chroot() {
	local minor
	sid_again
	cp "$SETUP_DIR/in-root.sh" "$KRAIT_TEST_CACHE/in-root.sh"
	for minor in $(sid_minors); do
		register "python$minor-sid-chroot" chroot \
			"$KRAIT_TEST_CACHE/in-root.sh" "$SID" "/usr/bin/python$minor"
	done
}

# sid_again: does the steps that add to what setup_sid has made.
sid_again() {
	[ -d "$SID/host" ] || fail "sid's release builds are missing"
	apt_root "$KRAIT_TEST_CACHE/sid/apt" sid
}

setup_sid_dbg() {
	local minor
	sid_again
	for minor in $(sid_minors); do
		apt_unpack "$SID" "python$minor-dbg" "libpython$minor-dbg"
		sid_retarget "$SID/usr/bin/python$minor-dbg" "$SID/host/bin/python$minor-dbg"
		register "python$minor-sid-dbg" dbg "$SID/host/bin/python$minor-dbg"
	done
}

setup_sid_pypy() {
	local exe
	sid_again
	apt_unpack "$SID" pypy3
	exe=$(readlink -f "$SID/usr/bin/pypy3")
	sid_retarget "$exe" "$SID/host/bin/${exe##*/}"
	register pypy3-sid pypy "$SID/host/bin/${exe##*/}"
}
