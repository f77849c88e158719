#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# benchmark.sh: what a CI job does with a benchmark and krait. One file, for any POSIX shell;
# docs/ci.md has recipes.
#
#   benchmark.sh record [-n RUNS] [-F HZ] [-o FILE] -- COMMAND...
#       Runs the command once to warm up, then records it RUNS times (5), HZ samples a second
#       (1999), as one recording. The label run says which run a sample is of.
#   benchmark.sh baseline FILE
#       GitLab: gets krait.pb.gz of this job's last success on the default branch. If there is
#       none (HTTP 404), that is no failure.
#   benchmark.sh compare BASELINE NEW [-m FILE.md] [-p FILE.html] [-n NAME] [LIMIT...]
#       Compares them: appends Markdown to FILE.md, and writes the page FILE.html. LIMIT is one of
#       `krait diff --fail-if`. NAME tells the benchmarks of a repository apart. Without a baseline
#       it says so and ends with 0. Exit code 4: a limit was hit.
#   benchmark.sh comment FILE.md
#       Puts the text of compare under the pull request (GitHub: gh, GH_TOKEN) or merge request
#       (GitLab: curl, python3, KRAIT_GITLAB_TOKEN). It replaces its own earlier comment on a
#       benchmark of that name.
#
# KRAIT: the program krait (default: krait). If it lacks the rights to record it is called with
# sudo.
set -eu
KRAIT=${KRAIT:-krait}
# the text for a benchmark begins with this mark, the benchmark's name and "-->"
MARK='<!-- krait benchmark: '

say() { printf 'benchmark.sh: %s\n' "$*" >&2; }
usage() { sed -n '/^#   bench/,/^#$/s/^# *//p' "$0" >&2; exit 2; }

# find_recorder: sets $krait to the whole path, because sudo has another PATH. Sets $sudo to the
# path of sudo if krait has no right to record without it.
find_recorder() {
	krait=$(command -v "$KRAIT") || { say "there is no program $KRAIT"; exit 127; }
	sudo=
	"$krait" doctor >/dev/null 2>&1 || ! sudo -n true 2>/dev/null || sudo=$(command -v sudo)
}
recorder() { "${sudo:-env}" ${sudo:+-n} "$krait" "$@"; }

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
	# the benchmark runs code of the branch, and this code must not see the tokens
	unset KRAIT_GITLAB_TOKEN GH_TOKEN
	find_recorder
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	say "warming up: $*"
	"$@" >&2
	run=1
	while [ "$run" -le "$runs" ]; do
		say "run $run of $runs"
		recorder record -q -F "$hz" --add-label "run=$run" -o "$work/$run.pb.gz" -- "$@" >&2 || {
			code=$?
			say "run $run ended with exit code $code"
			exit $code
		}
		run=$((run + 1))
	done
	"$KRAIT" merge -q "$work"/*.pb.gz -o "$out"
}

# Gets the baseline. Only HTTP status 404 means that there is no baseline yet.
baseline() {
	[ $# = 1 ] || usage
	status=$(printf 'header = "JOB-TOKEN: %s"\n' "$CI_JOB_TOKEN" |
		curl -sSL -K - -o "$1" -w '%{http_code}' -G --data-urlencode "job=$CI_JOB_NAME" \
			"$CI_API_V4_URL/projects/$CI_PROJECT_ID/jobs/artifacts/$CI_DEFAULT_BRANCH/raw/krait.pb.gz") || {
		say "can't get the baseline"
		rm -f "$1"
		exit 1
	}
	[ "$status" = 200 ] || rm -f "$1"
	case $status in
	200) ;;
	404) say "there is no baseline yet" ;;
	*) say "can't get the baseline: HTTP $status"; exit 1 ;;
	esac
}

compare() {
	[ $# -ge 2 ] || usage
	before=$1 after=$2 markdown=/dev/stdout page='' name=benchmark; shift 2
	while getopts m:p:n: option; do
		case $option in
		m) markdown=$OPTARG ;;
		p) page=$OPTARG ;;
		n) name=$OPTARG ;;
		*) usage ;;
		esac
	done
	shift $((OPTIND - 1))
	mark="$MARK$(printf '%s' "$name" | tr -c 'A-Za-z0-9._' -) -->"
	if [ ! -s "$before" ]; then
		say "no baseline '$before': nothing to compare with"
		printf '%s\nNo baseline of %s to compare with: none was kept yet, or none of such a machine.\n' \
			"$mark" "$name" >>"$markdown"
		return 0
	fi
	[ -z "$page" ] || "$KRAIT" diff -q "$before" "$after" -o "$page"
	# The arguments are limits. Each one is replaced by "--fail-if LIMIT".
	for limit; do
		shift
		set -- "$@" --fail-if "$limit"
	done
	code=0
	printf '%s\n' "$mark" >>"$markdown"
	"$KRAIT" diff "$before" "$after" --format md "$@" >>"$markdown" || code=$?
	return $code
}

# comment_on_github FILE MARK: if the user to whom the token belongs has a comment that begins with
# MARK, replaces it; else adds a comment.
comment_on_github() {
	number=$(sed -n 's,^refs/pull/\([0-9]*\)/merge$,\1,p' <<-END
	${GITHUB_REF:-}
	END
	)
	[ -n "$number" ] || { say "not a pull request: no comment"; return 0; }
	own=$(gh api graphql -f 'query={viewer{login}}' --jq .data.viewer.login)
	id=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$number/comments" \
		--jq ".[] | select(.user.login == \"$own\" and (.body | startswith(\"$2\"))) | .id")
	id=$(printf '%s\n' "$id" | sed -n 1p)
	if [ -n "$id" ]; then
		gh api -X PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$1" >/dev/null
	else
		gh api "repos/$GITHUB_REPOSITORY/issues/$number/comments" -F "body=@$1" >/dev/null
	fi
}

# comment_on_gitlab FILE MARK: if the token's user has a note of the merge request that begins with
# MARK, replaces it; else adds a note.
comment_on_gitlab() {
	[ -n "${CI_MERGE_REQUEST_IID:-}" ] || { say "not a merge request: no comment"; return 0; }
	[ -n "${KRAIT_GITLAB_TOKEN:-}" ] || { say "no KRAIT_GITLAB_TOKEN: no comment"; return 0; }
	notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
	own=$(gitlab "$CI_API_V4_URL/user")
	id=$(gitlab "$notes?per_page=100&sort=asc")
	id=$(printf '%s\n%s\n' "$own" "$id" | find_note "$2")
	if [ -n "$id" ]; then
		gitlab -X PUT "$notes/$id" --data-urlencode "body@$1" >/dev/null
	else
		gitlab "$notes" --data-urlencode "body@$1" >/dev/null
	fi
}
# Other users can see a command line, so the token isn't in curl's command line.
gitlab() { printf 'header = "PRIVATE-TOKEN: %s"\n' "$KRAIT_GITLAB_TOKEN" | curl -sSf -K - "$@"; }
# find_note MARK: reads a line with the user and a line with the notes; prints the id of the user's
# note that has the mark.
find_note() {
	python3 -c '
import json, sys
user, notes = map(json.loads, sys.stdin)
print(*[n["id"] for n in notes if not n["system"] and n["author"]["id"] == user["id"] and n["body"].startswith(sys.argv[1])][:1])
' "$1"
}

comment() {
	[ $# = 1 ] || usage
	mark=$(sed -n "1s/^${MARK}[A-Za-z0-9._-]* -->\$/&/p" "$1")
	[ -n "$mark" ] || { say "$1 wasn't written by benchmark.sh compare"; exit 2; }
	if [ -n "${GITLAB_CI:-}" ]; then
		comment_on_gitlab "$1" "$mark"
	else
		comment_on_github "$1" "$mark"
	fi
}

[ $# -gt 0 ] || usage
what=$1; shift
case $what in
record | baseline | compare | comment) "$what" "$@" ;;
*) usage ;;
esac
