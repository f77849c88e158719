#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# cli.sh: runs krait with many command lines and checks the results: exit codes, one sentence for
# bad input, outputs that can't be written, signals. Needs root (to record) and python3.
set -uo pipefail
cd "$(dirname "$0")/../../.."
KRAIT=$PWD/${KRAIT:-build/release/krait}
work=$(mktemp -d)
trap 'cd /; kill $(jobs -p) 2>/dev/null; umount -l "$work/full" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work"
bad=0
pass() { echo "PASS cli $1"; }
fail() { echo "FAIL cli $1: $2"; bad=1; }

# expect NAME CODE WORDS ARGUMENT...: krait must exit with CODE, with one line on stderr that has
# WORDS (a regex).
expect() {
	local name=$1 code=$2 words=$3 rc=0; shift 3
	timeout 30 "$KRAIT" "$@" >out 2>err </dev/null || rc=$?
	if [ $rc != "$code" ]; then
		fail "$name" "exit code $rc, not $code: $(head -c 300 err)"
	elif [ -n "$words" ] && ! grep -qE -- "$words" err; then
		fail "$name" "doesn't say '$words': $(head -c 300 err)"
	elif [ "$(grep -c 'krait: error' err)" -gt 1 ]; then
		fail "$name" "more than one sentence: $(head -c 300 err)"
	else
		pass "$name"
	fi
}

check() { # check NAME COMMAND...: prints PASS if the command succeeds, else FAIL
	local name=$1; shift
	if "$@"; then pass "$name"; else fail "$name" "$*"; fi
}

busy='
import time
def busy_here():
    end = time.time() + 30
    while time.time() < end: pass
busy_here()'

usage_errors() {
	expect no-words 2 Usage
	expect unknown-command 2 'did you mean `krait record`' recrod
	expect script-as-command 2 'krait record -- python3 app.py' app.py
	expect unknown-option 2 'did you mean --duration' record --duraton 3
	expect bad-duration 2 'not a duration' record -d 10x
	expect zero-duration 2 'no time to sample' record -d 0
	expect bad-frequency 2 'not a frequency' record -F fast
	expect frequency-too-high 2 'not a frequency' record -F 2000000
	expect bad-count 2 'not a count' record -c 0
	expect bad-event 2 'cpu-clock' record -e no-such-event
	expect bad-extension 2 'weird' record -o x.weird
	expect bad-format 2 'format weird: no such format; there are' record --format weird
	expect trace-without-times 2 'leave --no-times out' record --no-times -o x.trace.json
	expect since-without-times 2 'leave --no-times out' record --no-times --since 1
	expect since-after-until 2 'nothing is between' record --since 2 --until 1
	expect trace-of-counts 2 "page-faults isn't a time" record -e page-faults -o x.trace.json
	expect pstats-by 2 "pstats doesn't" record --by thread -o x.pstats
	expect bad-pid 2 'not a process id' record -p init
	expect pid-and-command 2 'exclude each other' record -p 1 -- true
	expect label-beside-sides 2 "doesn't go with --a and --b" diff --a v=1 --b v=2 --label x=1 x.pb.gz
	expect diff-as-picture 2 'x.svg is a name for svg' diff a.pb.gz b.pb.gz -o x.svg
	expect diff-as-speedscope 2 'is a name for speedscope' diff a b -o x.speedscope.json
	cp "$KRAIT" granted
	KRAIT=$work/granted expect grant-as-json 2 'exclude each other' doctor --grant --json
	KRAIT=$work/granted expect grant-and-forget 2 'exclude each other' doctor --grant --forget
	expect clock-too-fast 2 '100000 Hz' record -F 100001
	expect merge-to-nowhere 2 'name the file to write' merge a.pb.gz b.pb.gz
	expect command-without-dashes 2 'krait record -- python3' record python3 app.py
	expect nothing-after-dashes 2 'no command follows' record --
	check nothing-written test "$(find . -name '*krait*' -o -name '*weird*' | wc -l)" = 0
}

helps() {
	expect help 0 '' --help
	check help-names-commands grep -q doctor out
	expect record-help 0 '' record --help
	check help-names-options grep -q -- --duration out
	printf 'a;b 5\n' >some.folded
	expect quiet-merge 0 '' merge -q some.folded some.folded -o some.pb.gz
	expect quiet-diff 0 '' diff -q some.folded some.pb.gz
	check quiet-diff-says-nothing-else test ! -s err
	expect version 0 '' --version
	check version-has-a-number grep -qE '^krait [0-9]+\.[0-9]' out
}

running_shows_it() {
	expect no-such-process 1 '4194999|no such process|there is no process' record -d 1 -p 4194999
	sleep 100 & local sleeper=$!
	expect not-python 1 "isn't.* Python" record -d 1 -o x.folded -p $sleeper
	kill $sleeper
	expect no-directory 1 'No such file or directory' record -d 1 -o /no/such/dir/x.svg
	expect output-is-directory 1 'directory' record -d 1 --format folded -o "$work"
	expect command-not-found 127 'no command' record -o x.folded -- no-such-command-at-all
	expect command-not-runnable 126 "can't run" record -o x.folded -- "$work"
	echo 'print(1)' >app.py
	expect script-alone 127 '-- python3 app.py' record -o x.folded -- app.py
	expect script-by-path 126 '-- python3 ./app.py' record -o x.folded -- ./app.py
	expect own-exit-code 7 samples record -o x.folded -- sh -c 'exit 7'
	expect killed-command 137 samples record -o x.folded -- sh -c 'kill -9 $$'
	expect no-samples 0 "warning: no samples: 'sleep' ran no Python" record -o x.folded -- sleep 0.1
	expect no-match 0 'no Python process that --comm matches.*/proc/PID/comm' \
		record -d 0.2 -o x.folded --comm no-such-name
	echo "$busy" >named_so.py
	python3 named_so.py & sleeper=$!
	sleep 0.3
	expect comm-of-script 0 ' 1 process' record -d 1 -F 999 -f --comm 'named_s?.py'
	kill $sleeper
	python3 -c 'import time; time.sleep(9)' & sleeper=$!
	sleep 0.5
	expect waits-only 0 "the process didn't run on a CPU" record -d 0.3 -o x.folded -p $sleeper
	kill $sleeper
	expect require-samples 1 'samples' record --require-samples -o x.folded -- sleep 0.1
}

# If the disk of an output is full, krait prints one sentence and ends with exit code 1. An older
# file of that name stays as it was, and no other file is left behind.
full_disk() {
	mkdir full
	mount -t tmpfs -o size=64k tmpfs full 2>/dev/null || { echo "SKIP cli full-disk: can't mount"; return; }
	echo old >full/x.pb.gz
	head -c 1m /dev/zero >full/filler 2>/dev/null
	TMPDIR=$work expect full-disk 1 'No space left' record -d 1 -o full/x.pb.gz -- python3 -c "${busy/30/1}"
	check full-disk-keeps-older test "$(cat full/x.pb.gz)" = old
	check full-disk-no-leftover test "$(ls full | wc -l)" = 2
	umount full
}

# samples PID: waits until the krait with process id PID has sampled for a while
samples() {
	local tries=600
	until [[ $(ls -l "/proc/$1/fd" 2>/dev/null) == *perf_event* ]]; do
		sleep 0.05
		[ $((tries -= 1)) -gt 0 ] || return 0
	done
	sleep 0.5
}

signals() {
	local rc
	python3 -c "$busy" & local target=$!
	sleep 0.3
	for signal in INT TERM HUP; do
		rc=0
		# A shell lets its background jobs ignore SIGINT: here the signal has its default
		# action.
		env --default-signal=$signal "$KRAIT" record -q -o $signal.folded -p $target & local krait=$!
		samples $krait
		kill -s $signal $krait
		wait $krait || rc=$?
		check "SIG$signal-writes" grep -q busy_here $signal.folded
		check "SIG$signal-exit-code" test $rc = 0
	done
	mkdir killed
	"$KRAIT" record -q -d 30 -o killed/x.folded -p $target & local krait=$!
	samples $krait
	kill -9 $krait
	wait $krait 2>/dev/null
	check kill-leaves-no-half-file test -z "$(find killed -name x.folded -o -size +0 -type f)"
	kill $target
	wait $target 2>/dev/null
}

# In `record -d SECONDS -- COMMAND`, -d ends the recording and not the command.
duration_and_command() {
	expect duration-leaves-command 3 samples record -d 0.5 -o d.folded -- \
		sh -c 'python3 -c "import time; time.sleep(1)"; echo done; exit 3'
	check command-ran-on grep -q done out
}

folded_on_stdout() {
	python3 -c "$busy" & local target=$!
	sleep 0.3
	"$KRAIT" -p $target -f -d 1 >stacks 2>err
	check folded-on-stdout grep -qE 'busy_here .* [0-9]+$' stacks
	check words-on-stderr grep -q samples err
	kill $target
}

usage_errors
helps
if [ "$(id -u)" != 0 ]; then
	echo "SKIP cli recording: not root"
else
	running_shows_it
	full_disk
	signals
	duration_and_command
	folded_on_stdout
fi
exit $bad
