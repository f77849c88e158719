#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# interpreters.sh [--full] [--refresh]: make the test interpreters available and print them, one a
# line: NAME VERSION KIND PATH-TO-RUN (tab separated; also $CACHE/interpreters.tsv). If a source
# fails, that is printed on stderr and is no error here: tests/interpreters lists what must exist
# where, and `interpreters_check` (interpreters-lib.sh) decides. --full adds what has to be compiled
# for minutes; --refresh fetches everything again. KRAIT_EXTRA_PYTHONS="NAME=PATH ..." adds others
# (a free-threaded 3.14 or later, say: nobody packages one).
set -euo pipefail
cd "$(dirname "$0")"
. ./common.sh
. ./apt.sh
. ./register.sh
. ./embed.sh
. ./from-pyenv.sh
. ./from-distribution.sh
. ./from-sid.sh
. ./from-pbs.sh
. ./from-source.sh
. ./interpreters-lib.sh

# once WHAT FUNCTION FILE...: calls FUNCTION, unless it was done before with the present text of
# these files.
once() {
	local what=$1 function=$2; shift 2
	stamped "$what" "$@" && return 0
	say "setting up $what"
	attempt "$what" run_and_stamp "$what" "$function" "$@"
	write_table
}

run_and_stamp() {
	local what=$1 function=$2; shift 2
	"$function"
	stamp "$what" "$@"
}

setup_extra() {
	local entry
	for entry in ${KRAIT_EXTRA_PYTHONS:-}; do
		register "${entry%%=*}" extra "${entry#*=}"
	done
}

main() {
	local full=no
	for arg; do
		case $arg in
		--full) full=yes ;;
		--refresh) rm -rf "$KRAIT_TEST_CACHE/stamp" ;;
		*) say "usage: interpreters.sh [--full] [--refresh]"; exit 2 ;;
		esac
	done
	exec 9>"$KRAIT_TEST_CACHE/lock"
	flock 9
	once distribution setup_distribution from-distribution.sh
	once pyenv setup_pyenv from-pyenv.sh
	once sid setup_sid from-sid.sh embed.sh apt.sh retarget.py
	once distribution-extra setup_distribution_extra from-distribution.sh embed.sh
	once sid-chroot setup_sid_chroot from-sid.sh in-root.sh
	once sid-dbg setup_sid_dbg from-sid.sh
	once pbs setup_pbs from-pbs.sh
	once sid-pypy setup_sid_pypy from-sid.sh
	[ $full = no ] || once freethreaded setup_freethreaded from-source.sh
	[ -z "${KRAIT_EXTRA_PYTHONS:-}" ] || attempt extra setup_extra
	write_table
	cat "$KRAIT_TEST_CACHE/interpreters.tsv"
}

main "$@"
