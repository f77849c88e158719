#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# deb.sh [SUITE]...: builds the Debian package on this machine and checks it with lintian. Then the
# package is installed into an otherwise empty root of each suite (bookworm, trixie, sid), runs its
# own test there, follows debconf's answers, and is removed without a trace. Needs root.
set -uo pipefail
cd "$(dirname "$0")/../../.."
. tests/setup/common.sh
. tests/setup/apt.sh
set +e
bad=0
check() { # check NAME COMMAND...: prints PASS if the command succeeds, else FAIL
	local name=$1; shift
	if "$@"; then echo "PASS deb $name"; else echo "FAIL deb $name: see the log"; bad=1; fi
}
lacks() { echo "SKIP deb: $1"; exit 0; }
[ "$(id -u)" = 0 ] || lacks "not root"
need dh debhelper && need lintian lintian && need mmdebstrap mmdebstrap
for tool in dpkg-buildpackage dh lintian mmdebstrap unshare; do have $tool || lacks "no $tool"; done
mirror=$(debian_mirror) || lacks "no Debian mirror"

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

# Two lists name the packages that a build needs, and must agree. The compiler, libc and make aren't
# compared: they are build-essential.
same_needs() {
	local needs line
	needs=" $(sed -n '/^Build-Depends:/,/^Standards/p' packaging/debian/control | tr -cs 'a-z0-9-' ' ') "
	while read -r line _; do
		[[ " gcc libc6-dev make " == *" $line "* || "$needs" == *" $line "* ]] || { echo "$line isn't in control"; return 1; }
	done < <(sed -n 's/^build[[:space:]]//p' packaging/apt-packages)
}

build() { packaging/deb.sh >"$work/build.log" 2>&1 || { tail -n 30 "$work/build.log"; return 1; }; }

# The maintainer's address isn't a real one, because nothing of krait is published yet.
lint() {
	local said
	said=$(lintian --allow-root --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog build/deb/*.changes 2>&1)
	printf '%s\n' "$said" >&2
	! grep -E '^[EW]:' <<<"$said"
}

in_root() { tests/setup/in-root.sh "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
# told GROUP FORGET: before debconf asks its two questions, gives it the answers GROUP and FORGET
# (true or false)
told() {
	printf 'krait krait/group boolean %s\nkrait krait/forget boolean %s\n' "$1" "$2" | in_root debconf-set-selections
}
install_it() { in_root apt-get install -y -q "$PWD/build/deb/$deb" >>"$work/log" 2>&1 || { tail -n 20 "$work/log"; return 1; }; }
remove_it() { in_root apt-get purge -y -q krait >>"$work/log" 2>&1; }
# Lists all files and groups of the test system in $root, except the records of dpkg, apt and
# debconf, and root's cache, which the package's own test fills.
listed() {
	( cd "$root" && find . -xdev -path ./tmp -prune -o -path ./root/.cache -prune -o -path ./run -prune -o -path ./var/cache -prune -o -path ./var/lib/apt -prune -o \
		-path ./var/log -prune -o -path ./var/lib/dpkg -prune -o -name '*-' -prune -o -print | LC_ALL=C sort; cut -d: -f1 etc/group )
}
# mode_is MODE GROUP: checks the mode and the group of the krait that is installed in the test
# system
mode_is() {
	local gid
	gid=$(sed -n "s/^$2:[^:]*:\([0-9]*\):.*/\1/p" "$root/etc/group")
	[ "$(stat -c '%a %g' "$root/usr/bin/krait")" = "$1 $gid" ] || { stat "$root/usr/bin/krait"; return 1; }
}
no_capabilities() { [ -z "$(getcap "$root/usr/bin/krait")" ]; }
# The agent's systemd unit is installed but not enabled, and the agent's user exists.
agent_waits() {
	[ -n "$(find "$root/usr/lib/systemd/system" "$root/lib/systemd/system" -name krait-agent.service 2>/dev/null)" ] &&
		grep -q '^krait:' "$root/etc/passwd" &&
		[ -z "$(find "$root/etc/systemd" -name 'krait-agent*' 2>/dev/null)" ]
}
no_user() { ! grep -q '^krait:' "$root/etc/passwd"; }
# Purging the package leaves a store of the agent, unless debconf was told to remove it.
keeps_recordings() {
	mkdir "$root/var/lib/krait" && touch "$root/var/lib/krait/store.db" && remove_it && [ -e "$root/var/lib/krait/store.db" ] && rm -r "$root/var/lib/krait"
}
group_runs() { # Checks that a member of the group records, and that the profile has the function.
	in_root sh -c 'adduser --quiet --disabled-password --gecos "" alice && adduser --quiet alice krait
		cd /home/alice && runuser -u alice -- krait record -q -o a.folded -- python3 -c "
import time
def busy_of_alice():
    end = time.process_time() + 0.5
    while time.process_time() < end: pass
busy_of_alice()" && grep -q busy_of_alice a.folded && runuser -u alice -- mkdir -p .cache/krait &&
		chmod 700 .cache/krait && runuser -u alice -- touch .cache/krait/1.rows' >&2
}

one_suite() {
	local suite=$1
	root=$work/$suite
	# apt in the new root gets this machine's setting, because it may find the package lists of
	# a frozen mirror too old.
	mmdebstrap --quiet --aptopt="$(apt-config dump Acquire::Check-Valid-Until)" --variant=minbase --include=python3,adduser,debconf "$suite" "$root" "deb $mirror $suite main" \
		>"$work/log" 2>&1 || { echo "SKIP deb $suite: no root: $(tail -n 1 "$work/log")"; return; }
	rm -f "$root/etc/dpkg/dpkg.cfg.d"/*
	in_root true
	in_root apt-get update -q >>"$work/log" 2>&1
	told false false
	# The dependencies are installed first, so that krait's files are the only difference between the
	# two lists.
	install_it; in_root apt-get purge -y -q krait >>"$work/log" 2>&1
	listed >"$work/before"
	check "$suite-install" install_it
	check "$suite-no-rights-by-default" no_capabilities
	check "$suite-mode" mode_is 755 root
	check "$suite-autopkgtest" in_root sh "$PWD/packaging/debian/tests/record"
	check "$suite-agent" agent_waits
	check "$suite-remove" keeps_recordings
	check "$suite-removes-user" no_user
	listed >"$work/after"
	check "$suite-leaves-nothing" diff "$work/before" "$work/after"
	told true true
	check "$suite-install-with-group" install_it
	check "$suite-group-mode" mode_is 750 krait
	check "$suite-member-records" group_runs
	check "$suite-remove-with-caches" remove_it
	check "$suite-caches-are-gone" [ ! -e "$root/home/alice/.cache/krait" ]
	check "$suite-recordings-stay" [ -s "$root/home/alice/a.folded" ]
	in_root userdel -r alice >/dev/null 2>&1
	listed >"$work/after"
	check "$suite-leaves-no-group" diff "$work/before" "$work/after"
	rm -rf --one-file-system "$root"
}

check build-depends same_needs
check build build || exit 1
check lintian lint
deb=$(cd build/deb && ls krait_*.deb)
[ $# -gt 0 ] || set -- bookworm trixie sid
for suite; do one_suite "$suite"; done
exit $bad
