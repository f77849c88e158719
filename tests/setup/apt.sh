# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2016 # $(REPO_URI) is apt's
# Packages of another Debian suite than the machine's own, unpacked into a directory: nothing
# is installed, no maintainer script runs, the machine's own apt state isn't touched. Sourced.
#
# APT_ARCH=arm64 before apt_root takes that architecture's packages instead.
# An empty dpkg status file makes apt resolve the whole closure, libc6 included.

# debian_mirror: the URI of the Debian mirror in the machine's own apt sources; on a machine of
# another distribution the one that debootstrap knows.
debian_mirror() {
	local uri
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | sed -n 1p)
	# Origin and label of a source are known only once its lists were fetched.
	[ -n "$uri" ] || uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
		sed -n '\:/debian/$:p' | sed -n 1p)
	[ -n "$uri" ] || { need debootstrap debootstrap &&
		uri=$(sed -n 's/^DEF_MIRROR="\(.*\)"$/\1/p' /usr/sbin/debootstrap); }
	[ -n "$uri" ] || fail "no Debian mirror in this machine's apt sources, and debootstrap knows none"
	printf '%s\n' "$uri"
}

# apt_root DIR SUITE...: prepares DIR as the apt state for these suites and fetches their package
# lists, if that wasn't done in the last day. Sets APT_ROOT, DIR as an absolute path, for the other
# functions.
apt_root() {
	local mirror suite
	APT_ROOT=$1; shift
	mkdir -p "$APT_ROOT"/lists/partial "$APT_ROOT"/cache/archives/partial
	APT_ROOT=$(cd "$APT_ROOT" && pwd)
	: >"$APT_ROOT/status"
	mirror=$(debian_mirror) || return
	for suite; do
		echo "deb [trusted=yes${APT_ARCH:+ arch=$APT_ARCH}] $mirror $suite main"
	done >"$APT_ROOT/sources.list.new"
	if cmp -s "$APT_ROOT/sources.list.new" "$APT_ROOT/sources.list" &&
		[ -n "$(find "$APT_ROOT/fetched" -mtime -1 2>/dev/null)" ]; then
		return 0
	fi
	mv "$APT_ROOT/sources.list.new" "$APT_ROOT/sources.list"
	# The return is explicit because some callers have switched errexit off.
	apt_in_root apt-get update || return
	touch "$APT_ROOT/fetched"
}

apt_in_root() {
	local arch=${APT_ARCH:-$(dpkg --print-architecture)}
	"$1" -q -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
		-o Dir::State::Lists="$APT_ROOT/lists" -o Dir::State::status="$APT_ROOT/status" \
		-o Dir::Etc::sourcelist="$APT_ROOT/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null -o Dir::Cache="$APT_ROOT/cache" \
		-o APT::Install-Recommends=false -o APT::Sandbox::User=root \
		-o Acquire::Languages=none \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "${@:2}"
}

# apt_unpack ROOT PACKAGE...: unpacks the packages and all that they depend on into ROOT.
apt_unpack() {
	local root=$1; shift
	rm -f "$APT_ROOT"/cache/archives/*.deb
	apt_in_root apt-get install -y --download-only "$@"
	merged_usr "$root"
	dpkg_unpack "$root" "$APT_ROOT"/cache/archives/*.deb
	rm -f "$APT_ROOT"/cache/archives/*.deb
}

dpkg_unpack() {
	local root=$1 deb; shift
	for deb; do
		dpkg -x "$deb" "$root"
	done
}

# apt_sources DIR SUITE...: does what apt_root does, and fetches the lists of source packages too.
apt_sources() {
	apt_root "$@" || return
	sed 's/^deb /deb-src /' "$APT_ROOT/sources.list" >"$APT_ROOT/sources.list.src"
	cat "$APT_ROOT/sources.list.src" >>"$APT_ROOT/sources.list"
	apt_in_root apt-get update
}

# apt_source PACKAGE: fetches its newest source into the working directory. The lists also name
# versions that the pool no longer has, so this tries until it gets one.
apt_source() {
	local version
	for version in $(apt_in_root apt-cache showsrc "$1" | sed -n 's/^Version: //p' | sort -Vur); do
		apt_in_root apt-get source --download-only "$1=$version" >&2 && return 0
	done
	return 1
}

# merged_usr ROOT: makes the links /bin -> usr/bin and so on, which packages assume. Without them
# dpkg -x would make directories.
merged_usr() {
	local dir
	mkdir -p "$1"/usr/{bin,lib,lib64,sbin} "$1"/{proc,sys,dev,tmp}
	for dir in bin lib lib64 sbin; do
		ln -sfn "usr/$dir" "$1/$dir"
	done
}
