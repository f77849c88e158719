#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# users.sh: the ways in which an ordinary user can record: `sudo krait record -- cmd`, file
# capabilities by `krait doctor --grant`, and --if-permitted. The user, their sudo rule and all
# changes in /etc are in a mount namespace of this script's own. Needs root, sudo, setpriv.
set -euo pipefail
cd "$(dirname "$0")/../../.."
KRAIT=${KRAIT:-build/release/krait}
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH=$path

if [ "${1:-}" != inside ]; then
	lack=
	[ "$(id -u)" = 0 ] || lack="not root"
	for tool in sudo setpriv unshare python3; do
		command -v $tool >/dev/null || lack="no $tool"
	done
	unshare --mount --propagation private true 2>/dev/null || lack="no mount namespace here"
	[ -z "$lack" ] || { echo "SKIP rights: $lack"; exit 0; }
	exec unshare --mount --propagation private -- "$0" inside
fi

work=$(mktemp -d "$PWD/build/rights.XXXXXX")
trap 'umount -l /etc 2>/dev/null; rm -rf "$work"' EXIT
bad=0
pass() { echo "PASS rights $1"; }
fail() { echo "FAIL rights $1: $2"; bad=1; }
check() { # check NAME COMMAND...: prints PASS if the command succeeds, else FAIL
	local name=$1; shift
	if "$@"; then pass "$name"; else fail "$name" "see the log"; fi
}

# Makes the users: Alice (4711) may use sudo; Bob (4712) is another user, whose processes Alice
# tries to record.
make_users() {
	cp -a /etc "$work/etc"
	mount --bind "$work/etc" /etc
	printf 'alice:x:4711:4711::%s:/bin/sh\nbob:x:4712:4712::/:/bin/sh\n' "$work/home" >>/etc/passwd
	printf 'alice:x:4711:\nbob:x:4712:\nartists:x:4713:alice\n' >>/etc/group
	printf 'alice:*:19000::::::\nbob:*:19000::::::\n' >>/etc/shadow
	echo 'alice ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/krait-test
	chmod 440 /etc/sudoers.d/krait-test
	mkdir "$work/home"
	chown 4711:4711 "$work/home"
	chmod 755 "$work"
	cp "$KRAIT" "$work/krait"
}

# as USER COMMAND...: runs COMMAND as USER in Alice's directory, with a user's usual environment.
as() {
	local user=$1; shift
	( cd "$work/home" && env -i PATH=$path HOME="$work/home" USER="$user" LOGNAME="$user" \
		MINE=kept LD_LIBRARY_PATH=/nowhere VIRTUAL_ENV=/venv \
		setpriv --reuid "$user" --regid "$user" --init-groups --inh-caps=-all -- "$@" )
}

# The program of the recorded command: it prints its ids and its environment.
whoami_py='
import os, time
print(os.getuid(), os.geteuid(), os.getgid(), 4713 in os.getgroups(), os.getcwd(),
      os.environ.get("MINE"), os.environ.get("LD_LIBRARY_PATH"), os.environ.get("VIRTUAL_ENV"),
      os.environ.get("HOME"), "".join(l.split()[1] for l in open("/proc/self/status")
      if l[:6] in ("CapInh", "CapPrm", "CapEff", "CapAmb")).strip("0") or "no-caps")
def busy_in_alice():
    end = time.process_time() + 0.5
    while time.process_time() < end: pass
busy_in_alice()'

said() { # said FILE WORD...: checks that the file holds these words and nothing else
	local file=$1; shift
	[ "$(cat "$file")" = "$*" ] || { echo "it said: $(cat "$file")"; echo "wanted:  $*"; return 1; }
}

owned_by_alice() { [ "$(stat -c %u:%g "$1")" = 4711:4711 ] || { stat "$1"; return 1; }; }

through_sudo() {
	as alice sudo "$work/krait" record -q -o sudo.folded -- python3 -c "$whoami_py" >"$work/said"
	check sudo-runs-as-caller said "$work/said" 4711 4711 4711 True "$work/home" kept /nowhere \
		/venv "$work/home" no-caps
	check sudo-file-is-callers owned_by_alice "$work/home/sudo.folded"
	check sudo-profile grep -q busy_in_alice "$work/home/sudo.folded"
	local rc=0
	as alice sudo "$work/krait" record -q -o x.folded -- sh -c 'exit 9' || rc=$?
	check sudo-exit-code [ $rc = 9 ]
}

denied() {
	local rc=0
	as alice "$work/krait" record -o denied.folded -- python3 -c "$whoami_py" >"$work/said" \
		2>"$work/err" || rc=$?
	check denied-exit-code [ $rc = 3 ]
	check denied-names-the-command grep -q "or once .sudo $work/krait doctor --grant" "$work/err"
	check denied-runs-nothing [ ! -s "$work/said" ]
	check denied-leaves-no-file [ ! -e "$work/home/denied.folded" ]
	advised=$(sed -n 's/.*run it as `\(sudo [^`]*\) \.\.\.`.*/\1/p' "$work/err")
	as alice sh -c "$advised record -q -o advised.folded -- python3 -c 'x = sum(range(20000000))'"
	check denied-command-works grep -q '<module>' "$work/home/advised.folded"
	where_sudo_looks
	rc=0
	as alice "$work/krait" record --if-permitted -o denied.folded -- sh -c 'echo ran; exit 5' \
		>"$work/said" 2>"$work/err" || rc=$?
	check if-permitted-exit-code [ $rc = 5 ]
	check if-permitted-runs said "$work/said" ran
	check if-permitted-warns-once [ "$(grep -c warning "$work/err")" = 1 ]
}

# krait is in a directory of sudo's PATH: the refusal names `sudo krait`. If sudo finds another
# krait first, the refusal names the whole path.
where_sudo_looks() {
	mount -t tmpfs tmpfs /usr/local/bin
	cp "$work/krait" /usr/local/bin/krait
	as alice krait record -- true 2>"$work/err" || true
	check denied-short-where-sudo-looks grep -q 'run it as `sudo krait [.][.][.]`' "$work/err"
	as alice "$work/krait" record -- true 2>"$work/err" || true
	check denied-full-beside-another grep -q "run it as .sudo $work/krait [.][.][.]" "$work/err"
	umount /usr/local/bin
}

# On a file system that is mounted nosuid, file capabilities have no effect: doctor --grant refuses
# and names another place.
grant_where_they_dont_count() {
	local rc=0 said
	mkdir "$work/nosuid"
	mount -t tmpfs -o nosuid tmpfs "$work/nosuid"
	cp "$work/krait" "$work/nosuid/krait"
	said=$("$work/nosuid/krait" doctor --grant 2>&1) || rc=$?
	umount "$work/nosuid"
	check grant-nosuid [ $rc = 1 ]
	check grant-nosuid-says-so grep -q "sudo install $work/nosuid/krait /usr/local/bin" <<<"$said"
}

granted() {
	local rc=0 pid sleeper
	grant_where_they_dont_count
	"$work/krait" doctor --grant >"$work/grant" || rc=$?
	check grant [ $rc = 0 ]
	check grant-mode [ "$(stat -c %u:%a "$work/krait")" = 0:755 ]
	as alice "$work/krait" record -q -o cap.folded -- python3 -c "$whoami_py" >"$work/said"
	check grant-keeps-environment said "$work/said" 4711 4711 4711 True "$work/home" kept \
		/nowhere /venv "$work/home" no-caps
	check grant-file-is-users owned_by_alice "$work/home/cap.folded"
	check grant-profile grep -q busy_in_alice "$work/home/cap.folded"
	as alice python3 -c "$(busy_for 90 busy_of_alice)" & pid=$!
	sleep 0.5
	pid=$(pgrep -u alice -f busy_of_alice | tail -n 1)
	rc=0
	as alice "$work/krait" record -q -d 1 -o pid.folded -p "$pid" || rc=$?
	check grant-pid grep -q busy_of_alice "$work/home/pid.folded"
	as alice python3 -c 'import time; time.sleep(20)' & sleeper=$!
	sleep 0.5
	as alice "$work/krait" dump -v -p "$(pgrep -u alice -f 'time.sleep.20' | tail -n 1)" >"$work/dump"
	check grant-dump grep -q 'sleeping for' "$work/dump"
	check grant-dump-kernel grep -q 'kernel: ' "$work/dump"
	kill "$(pgrep -u alice -f 'time.sleep.20' | tail -n 1)"
	wait $sleeper || true
	foreign
	kill "$pid"
	wait
}

busy_for() { # busy_for SECONDS NAME: prints a program whose function NAME works for SECONDS
	printf 'import time\ndef %s():\n  end = time.time() + %s\n  while time.time() < end: pass\n%s()' \
		"$2" "$1" "$2"
}

# Alice can't record Bob's processes, neither by their numbers nor by recording the whole machine.
foreign() {
	local rc=0 pid
	( cd / && exec setpriv --reuid bob --regid bob --clear-groups -- \
		python3 -c "$(busy_for 20 busy_of_bob)" ) &
	sleep 0.5
	pid=$(pgrep -u bob -f busy_of_bob | tail -n 1)
	as alice "$work/krait" record -q -d 1 -o bob.folded -p "$pid" 2>"$work/err" || rc=$?
	check foreign-pid-refused [ $rc = 3 ]
	check foreign-pid-says-so grep -q "another user's" "$work/err"
	check foreign-pid-unseen [ ! -s "$work/home/bob.folded" ]
	as alice "$work/krait" record -d 1 -o all.folded 2>"$work/err"
	check machine-says-of-others grep -q 'of other users left out' "$work/err"
	as alice "$work/krait" record -o below.folded -- sudo python3 -c "$(busy_for 1 busy_as_root)" 2>"$work/err"
	check below-says-of-others grep -q "'sudo' started belong to another user" "$work/err"
	check machine-shows-own grep -q busy_of_alice "$work/home/all.folded"
	check machine-hides-others sh -c '! grep -q busy_of_bob "$1"' sh "$work/home/all.folded"
	"$work/krait" record -q -d 1 -o "$work/root.folded"
	check root-sees-all grep -q busy_of_bob "$work/root.folded"
	kill "$pid" 2>/dev/null || : # on a busy machine the program may have ended by itself
}

# storm_of NAME: prints a program that starts children one after another, each of which works for
# three milliseconds
storm_of() {
	cat <<-END
		import os, time
		def $1():
		  end = time.thread_time() + .003
		  while time.thread_time() < end: pass
		  os._exit(0)
		end = time.time() + 4
		while time.time() < end:
		  os.fork() or $1()
		  os.wait()
	END
}

# Most children that a program of storm_of() starts have ended when krait looks at them. Then only
# the kernel program knows whose processes they were.
short_lived() {
	local storm
	( cd / && exec setpriv --reuid bob --regid bob --clear-groups -- \
		python3 -c "$(storm_of child_of_bob)" ) & storm=$!
	as alice python3 -c "$(storm_of child_of_alice)" &
	sleep 0.5
	as alice "$work/krait" record -q -F 999 -d 2 -o storm.folded
	check storm-shows-own grep -q child_of_alice "$work/home/storm.folded"
	check storm-hides-others sh -c '! grep -q child_of_bob "$1"' sh "$work/home/storm.folded"
	kill $storm 2>/dev/null || : # on a busy machine the program may have ended by itself
	wait
}

make_users
through_sudo
denied
granted
short_lived
exit $bad
