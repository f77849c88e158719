#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# benchmark.sh: what a CI job does with a benchmark and krait. One file, for any POSIX shell; docs/ci.md has recipes.
#
#   benchmark.sh record [-n RUNS] [-F HZ] [-o FILE] -- COMMAND...
#       Runs the command once to warm up, then records it RUNS times (5), HZ samples a second (1999), as one recording.
#   benchmark.sh compare BASELINE NEW [-m FILE.md] [-p FILE.html] [LIMIT...]
#       Compares them: Markdown is appended to FILE.md, FILE.html is the page. LIMIT is one of `krait diff --fail-if`.
#       Without a baseline it says so and ends with 0. Exit code 4: a limit was hit.
#   benchmark.sh comment FILE.md
#       Puts the text under the pull request (GitHub: gh, GH_TOKEN) or merge request (GitLab: curl, KRAIT_GITLAB_TOKEN),
#       in place of the one that it put there before.
#
# KRAIT: how krait is called (krait). Where it may not record it is called with sudo.
set -eu
KRAIT=${KRAIT:-krait}
MARK='<!-- krait benchmark -->'

say() { printf 'benchmark.sh: %s\n' "$*" >&2; }
usage() { sed -n '/^#   bench/,/^#$/s/^# *//p' "$0" >&2; exit 2; }

# recorder: krait, or sudo with its whole path where it has no rights of its own.
recorder() {
	if "$KRAIT" doctor >/dev/null 2>&1 || ! sudo -n true 2>/dev/null; then
		printf '%s\n' "$KRAIT"
	else
		printf 'sudo -n %s\n' "$(command -v "$KRAIT")"
	fi
}

record() {
	runs=5 hz=1999 out=krait-new.pb.gz
	while getopts n:F:o: option; do
		case $option in
		n) runs=$OPTARG ;;
		F) hz=$OPTARG ;;
		o) out=$OPTARG ;;
		*) usage ;;
		esac
	done
	shift $((OPTIND - 1))
	[ $# -gt 0 ] || usage
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	say "warming up: $*"
	"$@" >&2
	command=$(recorder) run=1
	while [ "$run" -le "$runs" ]; do
		say "run $run of $runs"
		# shellcheck disable=SC2086 # sudo and krait are two words
		$command record -q -F "$hz" -o "$work/$run.pb.gz" -- "$@" >&2 || {
			code=$?
			say "run $run ended with exit code $code"
			exit $code
		}
		run=$((run + 1))
	done
	"$KRAIT" merge -q "$work"/*.pb.gz -o "$out"
}

compare() {
	[ $# -ge 2 ] || usage
	before=$1 after=$2 markdown=/dev/stdout page=; shift 2
	while getopts m:p: option; do
		case $option in
		m) markdown=$OPTARG ;;
		p) page=$OPTARG ;;
		*) usage ;;
		esac
	done
	shift $((OPTIND - 1))
	if [ ! -s "$before" ]; then
		say "no baseline '$before': nothing to compare with"
		printf '%s\nNo baseline yet to compare with.\n' "$MARK" >>"$markdown"
		return 0
	fi
	[ -z "$page" ] || "$KRAIT" diff -q "$before" "$after" -o "$page"
	# One --fail-if for each limit, in place of the arguments.
	for limit; do
		shift
		set -- "$@" --fail-if "$limit"
	done
	code=0
	printf '%s\n' "$MARK" >>"$markdown"
	"$KRAIT" diff "$before" "$after" --format md "$@" >>"$markdown" || code=$?
	return $code
}

comment_on_github() {
	number=$(sed -n 's,^refs/pull/\([0-9]*\)/merge$,\1,p' <<-END
	${GITHUB_REF:-}
	END
	)
	[ -n "$number" ] || { say "not a pull request: no comment"; return 0; }
	id=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$number/comments" \
		--jq ".[] | select(.body | startswith(\"$MARK\")) | .id" | sed -n 1p)
	if [ -n "$id" ]; then
		gh api -X PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$1" >/dev/null
	else
		gh api "repos/$GITHUB_REPOSITORY/issues/$number/comments" -F "body=@$1" >/dev/null
	fi
}

# Notes of a merge request; the first one with the mark is ours. Asked for as text, one note a line.
comment_on_gitlab() {
	[ -n "${CI_MERGE_REQUEST_IID:-}" ] || { say "not a merge request: no comment"; return 0; }
	[ -n "${KRAIT_GITLAB_TOKEN:-}" ] || { say "no KRAIT_GITLAB_TOKEN: no comment"; return 0; }
	notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
	id=$(gitlab "$notes?per_page=100&sort=asc" | sed 's/{"id":/\
&/g' | sed -n "s/^{\"id\":\([0-9]*\),.*\"body\":\"[^\"]*krait benchmark.*/\1/p" | sed -n 1p)
	if [ -n "$id" ]; then
		gitlab -X PUT "$notes/$id" --data-urlencode "body@$1" >/dev/null
	else
		gitlab "$notes" --data-urlencode "body@$1" >/dev/null
	fi
}
gitlab() { curl -sSf -H "PRIVATE-TOKEN: $KRAIT_GITLAB_TOKEN" "$@"; }

comment() {
	[ $# = 1 ] || usage
	if [ -n "${GITLAB_CI:-}" ]; then
		comment_on_gitlab "$1"
	else
		comment_on_github "$1"
	fi
}

[ $# -gt 0 ] || usage
what=$1; shift
case $what in
record | compare | comment) "$what" "$@" ;;
*) usage ;;
esac
