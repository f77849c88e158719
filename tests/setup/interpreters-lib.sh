# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Reads the table of interpreters that interpreters.sh has written, and the list of those that
# must exist (tests/interpreters). Sourced by tests; needs nothing else from here.

INTERPRETERS_TSV=${KRAIT_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/krait-tests}/interpreters.tsv
KRAIT_TEST_LOGS=$(dirname "$INTERPRETERS_TSV")/log
INTERPRETERS_LIST=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/interpreters

# interpreters_names [KIND]: prints the names of those that exist here, all or of one kind.
interpreters_names() {
	awk -F '\t' -v kind="${1:-}" 'kind == "" || $3 == kind { print $1 }' "$INTERPRETERS_TSV"
}

# interpreter_field NAME COLUMN(2 version, 3 kind, 4 path): prints the field. If there is no such
# interpreter, prints nothing and returns 1.
interpreter_field() {
	awk -F '\t' -v name="$1" -v col="$2" '$1 == name { print $col; found = 1 }
		END { exit !found }' "$INTERPRETERS_TSV"
}

interpreter_path() { interpreter_field "$1" 4; }

# interpreters_machine: prints "full" where pyenv is, else "apt".
interpreters_machine() {
	[ -d "${PYENV_ROOT:-$HOME/.pyenv}/versions" ] && echo full || echo apt
}

# interpreters_expected WHERE: prints the names that have where=WHERE in the list.
interpreters_expected() {
	sed -n "s/^\([^# ]*\) \{1,\}where=$1\$/\1/p" "$INTERPRETERS_LIST"
}

# interpreters_missing: prints the interpreters of the whole list that this machine lacks, each with
# its WHERE.
interpreters_missing() {
	local where name
	for where in apt full option; do
		for name in $(interpreters_expected $where); do
			interpreter_path "$name" >/dev/null || echo "$name where=$where"
		done
	done
}

# how_to_get NAME: prints how to get an interpreter that this machine needn't have.
how_to_get() {
	local version=${1#python}
	version=${version%%-*}
	case $1 in
	*-pyenv) echo "\`pyenv install $version\` gives it" ;;
	*-pbs) echo "needs a Go tool chain and its module proxy; $KRAIT_TEST_LOGS/pbs" ;;
	*-source) echo "tests/run --full compiles it" ;;
	*) echo "$KRAIT_TEST_LOGS says why" ;;
	esac
}

# interpreters_untested: prints the versions in the list of which this machine has no interpreter.
interpreters_untested() {
	sed -n 's/^python\([0-9]*\.[0-9]*\)[t-].*/\1/p' "$INTERPRETERS_LIST" | sort -uV |
		grep -vxF "$(awk -F '\t' '$3 != "pypy" { split($2, v, "."); print v[1] "." v[2] }' "$INTERPRETERS_TSV")" |
		paste -sd ' '
}

# interpreters_check: prints what is missing; fails if this kind of machine must have it.
interpreters_check() {
	local machine name where bad=0 versions
	machine=$(interpreters_machine)
	while read -r name where; do
		[ -n "$name" ] || continue
		case $machine:$where in
		full:where=apt | full:where=full) echo "FAIL interpreter $name: missing"; bad=1 ;;
		*) echo "SKIP interpreter $name: not on this machine; $(how_to_get "$name")" ;;
		esac
	done <<<"$(interpreters_missing)"
	versions=$(interpreters_untested || true)
	[ -z "$versions" ] ||
		echo "SKIP interpreter versions: no test below tries CPython $versions on this machine"
	return $bad
}
