# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Builds the embedding programs (embed-*.c) against a libpython in an unpacked root. Sourced.

# embed_flags ROOT LIBC_ROOT: LIBC_ROOT is the root whose loader and libc run the program,
# empty for the host's own.
embed_flags() {
	printf '%s\n' -Wl,--disable-new-dtags "-Wl,-rpath,$1/usr/lib/$MULTIARCH" \
		-Wl,--allow-shlib-undefined
	[ -z "$2" ] || printf '%s\n' "-Wl,--dynamic-linker=$(echo "$2"/usr/lib*/ld-linux-*.so.*)"
}

# The program is put in a bin/ beside the lib/ that has the standard library, because libpython
# looks for the library there.
embed_place() {
	mkdir -p "$1/embed/bin"
	ln -sfn ../usr/lib "$1/embed/lib"
	echo "$1/embed/bin/$2"
}

# embed_linked NAME ROOT MINOR LIBC_ROOT: builds a program that is linked with libpython
embed_linked() {
	local exe
	exe=$(embed_place "$2" "host-linked-$3")
	# shellcheck disable=SC2046 # one flag per line
	gcc -O2 -g -o "$exe" "$SETUP_DIR/embed-linked.c" \
		"$2/usr/lib/$MULTIARCH/libpython$3.so.1.0" $(embed_flags "$2" "$4")
	register "$1-shared" shared "$exe"
}

# embed_dlopen NAME ROOT MINOR LIBC_ROOT: builds a program that opens libpython by dlopen()
embed_dlopen() {
	local exe
	exe=$(embed_place "$2" "host-dlopen-$3")
	# shellcheck disable=SC2046
	gcc -O2 -g -o "$exe" "-DLIBPYTHON=\"$2/usr/lib/$MULTIARCH/libpython$3.so.1.0\"" \
		"$SETUP_DIR/embed-dlopen.c" -ldl $(embed_flags "$2" "$4")
	register "$1-dlopen" dlopen "$exe"
}
