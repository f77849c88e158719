#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# capabilities.sh: takes each capability away in turn from the smallest set that works, and checks
# what is lost without it. The list under test is RIGHTS in src/host/rights.h. Needs root, setpriv,
# gcc and the shared library of tests/setup/interpreters.sh.
set -uo pipefail
cd "$(dirname "$0")/../../.."
for tool in setpriv pgrep gcc; do
	command -v $tool >/dev/null || { echo "SKIP capabilities: no $tool"; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "SKIP capabilities: not root"; exit 0; }

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
chmod 777 "$work"
cp "${KRAIT:-build/release/krait}" "$work/krait"
bad=0
check() { # check NAME COMMAND...: prints PASS if the command succeeds, else FAIL
	local name=$1; shift
	if "$@"; then echo "PASS capabilities $name"; else echo "FAIL capabilities $name: see the log"; bad=1; fi
}

# with CAPS COMMAND...: runs COMMAND as nobody, with exactly the capabilities CAPS ("+bpf,+perfmon",
# or "" for none).
with() {
	local caps=$1; shift
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps="-all${caps:+,$caps}" \
		--ambient-caps="-all${caps:+,$caps}" -- "$@"
}

program='
import time
def busy_body():
    end = time.time() + 60
    while time.time() < end: pass
busy_body()'

sees() { # sees CAPS PID: checks that krait with the capabilities CAPS can sample process PID
	rm -f "$work/x.folded"
	with "$1" "$work/krait" record -q -d 0.5 -o "$work/x.folded" -p "$2" 2>"$work/err"
	grep -q busy_body "$work/x.folded" 2>/dev/null
}
blind() { ! sees "$@"; }

# runs CAPS: krait with the capabilities CAPS records a command of the same user. Returns the
# command's exit code; 3 is krait's own, for a failure.
runs() {
	rm -f "$work/x.folded"
	with "$1" "$work/krait" record -q -o "$work/x.folded" -- \
		/usr/bin/python3 -c "${program/60/0.5}" 2>"$work/err" &&
		grep -q busy_body "$work/x.folded"
}
# refused CAPS NAMED: checks that krait with the capabilities CAPS refuses to record, and names the
# missing capability NAMED
refused() {
	with "$1" "$work/krait" record -o "$work/x.folded" -- /bin/true 2>"$work/err"
	[ $? = 3 ] && grep -q "$2 missing" "$work/err"
}

least=+bpf,+perfmon
check own-command-needs-two runs $least
check without-bpf refused +perfmon CAP_BPF
check without-perfmon refused +bpf CAP_PERFMON

# The kernel's functions have names only for users who may know the kernel's addresses.
zeros='
import time
end = time.time() + 0.5
with open("/dev/zero", "rb", 0) as f:
    while time.time() < end: f.read(1 << 20)'
names_kernel() { # CAPS
	rm -f "$work/x.folded"
	with "$1" "$work/krait" record -q -o "$work/x.folded" -- /usr/bin/python3 -c "$zeros" 2>"$work/err"
	grep -q 'zero.* (\[kernel\])' "$work/x.folded"
}
nameless() { ! names_kernel "$@"; }
check kernel-names names_kernel $least,+syslog
check kernel-names-without-syslog nameless $least

# Records another user's process: first one whose executable everybody may read, then one whose
# executable only its owner may read.
/usr/bin/python3 -c "$program" & other=$!
cp "$(readlink -f /usr/bin/python3)" "$work/private"
chmod 700 "$work/private"
"$work/private" -c "$program" & unreadable=$!
sleep 0.5
check other-user sees $least,+sys_ptrace $other
check other-user-without-sys_ptrace blind $least $other
check unreadable-file sees $least,+sys_ptrace,+dac_read_search $unreadable
check unreadable-file-without-dac_read_search blind $least,+sys_ptrace $unreadable
check unreadable-file-says-so grep -q "process $unreadable: can't open its executable: Permission denied" "$work/err"
kill $other $unreadable

# A process has mapped a libpython whose file was replaced later, as a package upgrade does.
cache=${KRAIT_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/krait-tests}
library=$(find "$cache/dist" -name 'libpython3.*.so.1.0' -print -quit 2>/dev/null)
if [ -z "$library" ]; then
	echo "SKIP capabilities deleted-library: no libpython from tests/setup/interpreters.sh"
else
	cp "$library" "$work/libpython.so"
	chmod 755 "$work/libpython.so"
	gcc -DLIBPYTHON="\"$work/libpython.so\"" -o "$work/host" tests/setup/embed-dlopen.c -ldl
	with "" env PYTHONHOME=/usr "$work/host" -c "$program" &
	sleep 1
	host=$(pgrep -f "^$work/host")
	rm "$work/libpython.so"
	check deleted-library sees $least,+checkpoint_restore "$host"
	check deleted-library-without-checkpoint_restore blind $least "$host"
	check deleted-library-says-so \
		grep -q 'libpython.so was replaced on disk; .*CAP_CHECKPOINT_RESTORE' "$work/err"
	kill "$host"
fi
exit $bad
