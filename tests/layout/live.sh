#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# live.sh [NAME...]: applies what krait knows from an interpreter's file to a live process. Every
# thread's state must be found from its thread pointer (the thread ids in it prove that), and the
# functions found there must be those that the script runs, also in threads without the GIL. Needs
# root (ptrace), x86-64, build/release/libkrait.a and tests/setup/interpreters.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/setup/interpreters-lib.sh
. tests/setup/interpreters-lib.sh
build=${KRAIT_BUILD:-build/release}
cc=${CC:-gcc}
work=$(mktemp -d)
pid=
stop() { [ -z "$pid" ] || kill "$pid" 2>/dev/null || true; pid=; }
trap 'stop; rm -rf "$work"' EXIT

# the script whose threads are read; it runs on every version
cat >"$work/target.py" <<'PY'
import os, sys, threading, time
def beta_sleep():
    time.sleep(600)
def gamma_outer():
    beta_sleep()
def delta_wait(lock):
    lock.acquire()
def alpha_inner():
    n = 0
    out = os.fdopen(int(sys.argv[1]), "w")
    out.write("%d\n" % os.getpid())
    out.close()
    while True:
        n += 1
def alpha_main():
    alpha_inner()
lock = threading.Lock()
lock.acquire()
for f, a in ((gamma_outer, ()), (delta_wait, (lock,))):
    t = threading.Thread(target=f, args=a)
    t.daemon = True
    t.start()
time.sleep(0.2)
alpha_main()
PY

# has LOG FUNCTIONS: checks that the line of some thread in LOG has these functions in this order.
has() { grep -q -- ": .*$2" "$1" || { echo "FAIL live $name: no thread in $2"; return 1; }; }

check() {
	local name=$1 got rc=0
	mkfifo "$work/ready"
	(exec "$(interpreter_path "$name")" - 3 <"$work/target.py" 3>"$work/ready" 2>"$work/err") &
	pid=$!
	read -r -t 20 got <"$work/ready" || got=
	rm -f "$work/ready"
	if [ -z "$got" ]; then
		echo "SKIP live $name: doesn't run: $(tail -n 1 "$work/err")"
	elif ! "$work/pylive" "$pid" >"$work/log" 2>&1; then
		echo "FAIL live $name: $(tr '\n' ';' <"$work/log")"
	elif has "$work/log" 'alpha_inner alpha_main <module>$' &&
		has "$work/log" 'beta_sleep gamma_outer run ' && has "$work/log" 'delta_wait run '; then
		echo "PASS live $name ($(head -n 1 "$work/log"))"
	fi
	stop
	wait 2>/dev/null || true
}

[ "$(uname -m)" = x86_64 ] || { echo "SKIP live: x86-64 only"; exit 0; }
[ -f "$build/libkrait.a" ] || { echo "FAIL live: no $build/libkrait.a (make)"; exit 1; }
[ -f "$INTERPRETERS_TSV" ] || { echo "SKIP live: no test interpreters (tests/setup/interpreters.sh)"; exit 0; }
"$cc" -D_GNU_SOURCE -std=gnu17 -Iabi -Isrc -o "$work/pylive" tests/tools/pylive.c \
	"$build/libkrait.a" -lelf
for name in ${*:-$(interpreters_names)}; do
	[ "$(interpreter_field "$name" 3)" = pypy ] || check "$name"
done | tee "$work/lines"
! grep -q ^FAIL "$work/lines"
