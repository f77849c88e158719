# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A free-threaded CPython, compiled (minutes: only with --full), from the newest Debian source
# of 3.13 or later that the mirror really has: nobody packages the build. Sourced.

setup_freethreaded() {
	local dir=$KRAIT_TEST_CACHE/freethreaded minor
	need make make
	need gcc gcc
	apt_sources "$dir/apt" sid testing stable
	minor=$(cd "$dir" && freethreaded_source)
	rm -rf "$dir/src"
	mkdir "$dir/src"
	tar -xf "$(echo "$dir"/python"$minor"_*.orig.tar.?z)" -C "$dir/src" --strip-components 1
	( cd "$dir/src" && ./configure --disable-gil --without-ensurepip --disable-test-modules \
		--prefix="$dir/usr" && nice make -j2 && make install )
	rm -rf "$dir/src" "$dir/apt" "$dir"/python*
	register "python${minor}t-source" freethreaded "$dir/usr/bin/python${minor}t"
}

# freethreaded_source: fetches a source into the working directory and prints its 3.x.
freethreaded_source() {
	local minor
	for minor in 3.15 3.14 3.13; do
		if apt_source "python$minor"; then
			echo "$minor"
			return 0
		fi
	done
	fail "no source package of CPython 3.13 or later obtainable"
}
