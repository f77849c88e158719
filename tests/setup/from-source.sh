# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A free-threaded CPython, compiled (minutes: only with --full), from the newest Debian source
# of 3.13 or later that the mirror really has: nobody packages the build. Sourced.

setup_freethreaded() {
	local dir=$KRAIT_TEST_CACHE/freethreaded minor
	need make make
	need gcc gcc
	apt_root "$dir/apt" sid testing stable
	sed 's/^deb /deb-src /' "$APT_ROOT/sources.list" >"$APT_ROOT/sources.list.src"
	cat "$APT_ROOT/sources.list.src" >>"$APT_ROOT/sources.list"
	apt_in_root apt-get update
	minor=$(cd "$dir" && freethreaded_source)
	rm -rf "$dir/src"
	mkdir "$dir/src"
	tar -xf "$(echo "$dir"/python"$minor"_*.orig.tar.?z)" -C "$dir/src" --strip-components 1
	( cd "$dir/src" && ./configure --disable-gil --without-ensurepip --disable-test-modules \
		--prefix="$dir/usr" && nice make -j2 && make install )
	rm -rf "$dir/src" "$dir/apt" "$dir"/python*
	register "python${minor}t-source" freethreaded "$dir/usr/bin/python${minor}t"
}

# freethreaded_source: fetch a source into the working directory, print its 3.x. Lists name
# versions that the pool no longer has, so try until one comes.
freethreaded_source() {
	local minor version
	for minor in 3.15 3.14 3.13; do
		for version in $(apt_in_root apt-cache showsrc "python$minor" |
			sed -n 's/^Version: //p' | sort -Vur); do
			if apt_in_root apt-get source --download-only "python$minor=$version" >&2; then
				echo "$minor"
				return 0
			fi
		done
	done
	fail "no source package of CPython 3.13 or later obtainable"
}
