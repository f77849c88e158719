#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rules.sh: checks rules of CONTRIBUTING.md that no compiler checks: the licence line, rooms
# (folders) that include only rooms below them, layout, shell scripts without errors.
set -uo pipefail
cd "$(dirname "$0")/../.."
bad=0
verdict() { # verdict NAME FINDINGS: prints PASS if FINDINGS is empty, else FINDINGS and FAIL
	if [ -z "$2" ]; then echo "PASS rules $1"; else printf '%s\n' "$2"; echo "FAIL rules $1: see the log"; bad=1; fi
}

# A release archive has no .git; there, all files below these directories count.
files() {
	git ls-files -- "$@" 2>/dev/null | grep . || find abi bpf src ui tests packaging bench -type f
}
sources() { files abi bpf src tests | grep -E '\.[ch]$'; }
scripts() { files . | xargs grep -lE '^#!/bin/(ba)?sh' 2>/dev/null; }

verdict licence "$(files abi bpf src ui tests packaging bench | grep -E '\.([ch]|sh|py|js|ts)$' |
	xargs awk 'FNR <= 2 && /SPDX-License-Identifier/ { ok[FILENAME] } END {
		for (i = 1; i < ARGC; i++) if (!(ARGV[i] in ok)) print ARGV[i] }')"

# The rooms (folders of src/) that each room may include, besides itself. A folder without a row
# here belongs to the room above it.
verdict rooms "$(awk '
	BEGIN {
		unwind = "unwind unwind/rows unwind/cfi unwind/x86 unwind/prove"
		may["base"] = ""; may["base/text"] = "base"
		may["base/system"] = "base base/text"; may["base/work"] = "base base/system"
		may["elf"] = "base/";
		may["proc/read"] = may["proc/machine"] = may["proc/container"] = "base/"
		may["proc/files"] = "base/ elf proc/read"
		may["proc/service"] = "base/ proc/read proc/files proc/container"
		may["proc"] = "base/ elf proc/read proc/files proc/container proc/machine"
		may["unwind/rows"] = "base/ elf"
		may["unwind/cfi"] = "base/ elf unwind/rows"
		may["unwind/x86"] = "base/ unwind/rows"
		may["unwind/prove"] = "base/ elf unwind/rows unwind/x86"
		may["unwind"] = "base/ elf " unwind
		python = "python/layout python/find python/heap python/code python/pypy"
		may["python/layout"] = "base/"
		may["python/find"] = "base/ elf python/layout"
		may["python/heap"] = "base/ proc/ python/layout"
		may["python/code"] = "base/ proc/ python/layout python/heap " unwind
		may["python/pypy"] = "base/ proc/ python/heap"
		symbol = "symbol symbol/demangle symbol/elf symbol/pytables symbol/madecode"
		may["symbol"] = may["symbol/demangle"] = "base/"
		may["symbol/elf"] = "base/ elf proc/ symbol/demangle " unwind
		may["symbol/pytables"] = "base/ elf"
		may["symbol/madecode"] = "base/ proc/ symbol symbol/elf " unwind
		may["sampler"] = "base/ elf proc/ unwind unwind/rows";
		may["profile"] = "base/"
		may["profile/remake"] = may["profile/intervals"] = "base/ profile"
		common = "base/ proc/ profile/ collect/common"
		may["collect/common"] = common
		may["collect/process"] = common " python/heap python/layout"
		process = common " collect/process"
		may["collect/budget"] = process " python/heap"
		may["collect/thread"] = process " collect/budget python/heap"
		may["collect/code"] = process " collect/budget python/code"
		may["collect/interp"] = process " elf collect/budget python/find python/heap"
		may["collect/native"] = process " elf collect/budget collect/interp " \
			symbol " " unwind
		may["collect/space"] = process " collect/budget collect/native"
		may["collect/madecode"] = process " collect/native collect/space python/code" \
			" python/heap symbol/madecode " unwind
		may["collect/stack"] = process " collect/budget collect/code collect/native" \
			" collect/space collect/madecode elf python/heap python/layout " symbol
		collect = "collect collect/common collect/process collect/budget collect/thread" \
			" collect/code collect/interp collect/native collect/space" \
			" collect/madecode collect/stack"
		may["collect"] = "base/ elf proc/ profile/ " unwind " " python " " symbol " " collect
		may["dump"] = "base/ elf proc/ sampler profile/ collect collect/thread dump/facts " unwind " " python " " symbol
		may["dump/facts"] = "base/ proc/"
		may["host"] = "base/ proc/"
		may["host/files"] = "base/ proc/ host"
		capture = "elf proc/ sampler collect " unwind " " python " " symbol
		may["record"] = "base/ profile/ host/ dump record/command " capture
		may["record/command"] = "base/"
		may["record/figures"] = "base/ proc/ profile/ record record/command"
		may["agent"] = "base/ profile/ host query format/pprof store sampler record record/command"
		may["view/names"] = "base/ profile/"
		may["view/shape"] = may["view/filter"] = may["view/costs"] = "base/ profile/ view/names"
		may["view"] = "base/ profile/ view/names view/filter view/waits"
		may["view/lede"] = may["view/compare"] = "base/ profile/ view/costs"
		may["view/waits"] = "base/ profile/ view/names view/costs view/lede"
		shown = "view/names view/shape view/waits"
		may["format/common"] = may["format/pprof"] = "base/ profile/ " shown " format/common"
		pictures = may["format/pprof"] " format/pprof picture"
		may["picture"] = may["picture/svg"] = pictures
		may["picture/html"] = pictures " view/lede"
		split("firefox folded jsonl pstats speedscope v8", formats, " ")
		for (i in formats)
			may["format/" formats[i]] = may["format/pprof"] " format/pprof"
		may["format/trace"] = may["format/pprof"] " format/v8"
		may["format"] = pictures " format/firefox format/folded format/jsonl" \
			" format/speedscope format/trace format/v8 picture/html"
		may["live"] = may["format"] " format view/filter"
		may["live/browse"] = may["live"] " live"
		may["store"] = "base/ profile/"
		may["query"] = "base/ profile/ store"
		# A build with BPF=no has only some folders of src/cli (FILES in the Makefile).
		# These must not include folders that only recording needs, which such a build
		# lacks.
		files = may["live"] " store query view/ host/ picture/svg cli cli/options"
		may["cli"] = may["cli/options"] = may["cli/no_bpf"] = files
		may["cli/config"] = "base/ cli cli/options"
		may["cli/report"] = may["cli/diff"] = may["cli/merge"] = files
		may["cli/bpf"] = files " sampler"
		running = files " dump/ record/ live/ cli/report " capture
		may["cli/agent"] = running " cli/config"
		may["cli/man"] = may["cli/attach"] = may["cli/mcp"] = may["cli/doctor"] = running
		may["cli/record"] = running " cli/doctor"
		may["cli/agent"] = running " agent cli/record cli/config"
		may["cli/top"] = may["cli/dump"] = running " cli/record"
		may["cli/py_spy"] = running " cli/record cli/top cli/dump"
	}
	function top(room,   part) { # returns the top folder of a room, below src/
		split(room, part, "/")
		return part[1]
	}
	function allows(here, other) {
		# "proc/" stands for the room proc with all of its folders
		return index(" " may[here] " ", " " other " ") ||
			index(" " may[here] " ", " " top(other) "/ ")
	}
	function room(path,   part) { # returns the room that a path below src/ belongs to
		split(path, part, "/")
		return part[1] "/" part[2] in may ? part[1] "/" part[2] : part[1]
	}
	FNR == 1 {
		here = room(substr(FILENAME, 5))
		if (!(here in may))
			print FILENAME ": a room without a row"
	}
	match($0, /^#include "[a-z]+\/[a-z0-9_.\/]+"/) {
		other = room(substr($0, 11, RLENGTH - 11))
		if (here in may && other in may && other != here && !allows(here, other))
			print FILENAME ":" FNR ": " $0
	}
	here != "sampler" && /^#include (<bpf\/|".*\.skel\.h")/ { print FILENAME ":" FNR ": " $0 }
	' $(sources | grep '^src/'))"

# Only src/cli may print. The line of src/base/error.c left out here is compiled only for tests.
verdict prints "$(sources | grep '^src/' | grep -v '^src/cli/' | xargs grep -nE '\<stderr *[,)]|\<(printf|puts|putchar|perror)\(' |
	grep -v 'src/base/error.c:.*err_msg(): what failed')"

# Only src/cli may name krait's options. Other folders of src say with err_of() what an error is
# about, and src/cli/advice.c adds the option. Options of other programs may be named anywhere.
words_in_cli() { sources | grep '^src/cli/' | xargs grep -ohE "$1" | grep -oE "$2" | sort -u; }
below_cli() { sources | grep '^src/' | grep -v '^src/cli/'; }
named_options() {
	local long short
	long=$(words_in_cli '\.name = "[a-z-]+"' '[a-z-]+"' | tr -d '"' | paste -sd '|')
	short=$(words_in_cli "\.letter = '[a-zA-Z]'" "[a-zA-Z]'" | tr -d "'\n")
	below_cli | xargs grep -noE '"([^"\]|\\.)*"' |
		sed -E 's/(ulimit|mount|iconv|python3|docker run|node|sysctl) -[^;:"]*//g' |
		grep -E -e "--($long)\>" -e '[ (`]-['"$short"']([],;:.") `]|$)' | grep -v ':" -c"$'
}
without_advice() {
	below_cli | xargs grep -noE 'err_of\("[^"]+"' | while IFS='"' read -r at about _; do
		grep -qF "{\"$about\"," src/cli/advice.c || echo "$at\"$about\": src/cli/advice.c has no row"
	done
	sources | grep '^src/cli/' | grep -v '/advice\.[ch]$' | xargs grep -n 'err_msg('
}
verdict options "$(named_options; without_advice)"

# The page's folders (ui/), lowest first. A module may import from its own folder and from lower
# ones.
verdict page "$(files ui | grep '\.js$' | xargs awk '
	BEGIN {
		n = split("base data picture parts view change tables main", names, " ")
		for (i = 1; i <= n; i++)
			rank[names[i]] = i
	}
	function folder(path,   part) { # returns the folder of a path below ui/
		return split(path, part, "/") > 1 ? part[1] : "main"
	}
	FNR == 1 {
		here = folder(substr(FILENAME, 4))
		if (!(here in rank))
			print FILENAME ": the folder has no rank"
	}
	{
		line = $0
		while (match(line, /.\.\.?\/[a-z_\/.]+\.js/)) {
			other = substr(line, RSTART + 1, RLENGTH - 1)
			other = other ~ /^\.\.\// ? folder(substr(other, 4)) : \
				here == "main" ? folder(substr(other, 3)) : here
			if (rank[other] > rank[here])
				print FILENAME ":" FNR ": " here " imports from " other
			line = substr(line, RSTART + RLENGTH)
		}
	}')"

# A header's include guard is its path.
verdict guards "$(sources | grep '\.h$' | xargs awk '
	function check() {
		if (file && lines != "#ifndef " guard "#define " guard)
			print file ": does not begin with the guard " guard
	}
	FNR == 1 {
		check()
		file = guard = FILENAME
		lines = n = ""
		sub(/^src\//, "", guard)
		sub(/\.bpf\.h$/, ".h", guard)
		gsub(/[\/.-]/, "_", guard)
		guard = toupper(guard)
	}
	/^#/ && n++ < 2 { lines = lines $0 }
	END { check() }')"

# A longer file has two subjects, and must be split.
verdict size "$(files abi bpf src ui | grep -E '\.([ch]|js)$' | xargs wc -l | awk '$1 > 500 && $2 != "total"')"

# A folder of more than twenty files must be split too, unless it is a list: tests/fuzz has a file
# for each fuzzer and its seeds, tests/setup one for each thing that tests need.
verdict folders "$({ files abi bpf src | grep -E '\.[ch]$'; files ui tests; } |
	grep -v -e ^tests/fuzz/ -e ^tests/setup/ | sed 's,/[^/]*$,,' | sort | uniq -c |
	awk '$1 > 20 { print $2 ": " $1 " files" }')"

# clang-format breaks code at 100 columns, but not comments. (Lines with strings or UTF-8 may be
# longer.)
verdict columns "$(files . | grep -E '\.[ch]$' | LC_ALL=C xargs awk '
	length($0) > 50 && !/"/ && !/[\200-\377]/ {
		line = $0
		while ((i = index(line, "\t")) > 0)
			line = substr(line, 1, i - 1) sprintf("%*s", 8 - (i - 1) % 8, "") \
				substr(line, i + 1)
		if (length(line) > 100)
			print FILENAME ":" FNR ": " length(line) " columns"
	}')"

verdict machine-paths "$(files . | grep -v -e '^LICENSES/' -e 'tests/build/rules.sh' |
	xargs grep -nIE '(^|["=(: ])/(work|root)/' 2>/dev/null | grep -v '/proc/')"

verdict generated "$(files . | grep -E '(^|/)__pycache__/|\.py[co]$')"

# Finds comments and pages that name a file of this repository that doesn't exist. NAME stands for
# any name; libffi has a src/tramp.c, and the profiles of tests/golden name a src/a.c.
named_files() {
	files . | grep -E '\.([ch]|py|sh|md|in)$|/run$' | grep -vxE 'tests/build/rules.sh|LICENSES/.*' | xargs grep -noE \
		'(^|[^[:alnum:]_/.<%$-])(abi|bpf|src|ui|tests|bench|docs|man|packaging)/[[:alnum:]_./-]+\.(c|h|py|sh|md|js|in)\b' |
		sed -E 's/:[^[:alnum:]]?([[:alnum:]_./-]+)$/ \1/'
	files abi bpf src tests | grep -E '\.[ch]$' | xargs grep -noE '[a-z_/]+\.bpf\.[ch]\b' | sed -E 's/:(bpf\/)?([a-z_./]+)$/ \2/' |
		while read -r at name; do echo "$at $(find bpf bench tests -path "*/$name" | grep . || echo "bpf/$name")"; done
}
verdict gone "$(named_files | grep -v -e NAME -e ' src/tramp.c$' -e ' src/a.c$' |
	while read -r at name; do [ -e "$name" ] || echo "$at: there is no $name"; done)"

# Phrases that readers had to read twice, and that must not come back. folded_in.c is left out,
# because it must know one of them: older kraits wrote it to profiles.
verdict words "$(files src ui man docs README.md | grep -v src/format/folded/folded_in.c | xargs grep -nE \
	'Taken in[":]|it starts, ends or is native|less than it takes to tell|tables given up|\[no frames\]|reads nothing|before it was known what they|"leaderless"')"

# Marks (frames in brackets that stand for what isn't known) and the words of outcomes may be
# written only in abi/marks.h. A mark may be part of a longer text. Outcomes of one or two words
# ("complete", "not readable") aren't checked, because they are ordinary English.
mark_texts() { grep -ohE '"[^"]*"' abi/marks.h | grep -vE '^"[^"]*\."$'; }
list=$(mktemp)
{ mark_texts | sed -nE 's/^"(\[[^]:%]*).*/"\1/p' | sort -u; mark_texts | grep -v '^"\[' | awk 'NF > 2'; } >"$list"
verdict marks "$(sources | grep -v -e '^abi/marks.h$' -e '^tests/' | xargs grep -nFf "$list" /dev/null |
	grep -vE ':[0-9]+:[[:space:]]*(/?\*|//)|/\*.*"\[')"
rm -f "$list"

# What differs between versions of CPython is in the tables of src/python/layout. Other code must
# not compare versions.
verdict versions "$(sources | grep -E '^(src|bpf)/' | grep -v '^src/python/layout/' | grep -v -e '^src/live/text.c$' -e '^src/proc/libc.c$' |
	xargs grep -nE '\b0x0?(207|3[01][0-9a-f])\b')"

# Each attack listed in docs/security.md must name a test that exists.
verdict attempts "$(sed -n 's/^| .* | `\(tests[^ ]*\) \([^`]*\)` |$/\1 \2/p' docs/security.md |
	while read -r file case; do grep -qsw -e "$case" "$file" || echo "docs/security.md: $file has no $case"; done)"

# A command that stops reading early (head, grep -q) may end the command before it with SIGPIPE.
# With pipefail, the pipeline then fails, but not every time.
verdict pipes "$(files tests bench | grep -E '\.sh$|/run$' |
	xargs grep -nE '[^|][|] *(head|grep -[a-z]*[qm])' 2>/dev/null)"

# The kernel may give an entry of an LRU map to another process at any time. So only one function
# looks up entries of `procs`, and it returns a pointer to const.
verdict lru "$(files bpf | xargs grep -n 'lookup_elem(&procs' | grep -v -A1 'bpf/process/proc.bpf.h' ;
	files bpf | xargs grep -nE 'struct proc_entry \*[a-z]+( =|;|\))' | grep -v 'const struct proc_entry')"

# The manual page must have each environment variable that krait reads, except PATH and TERM.
verdict environment "$(sources | grep '^src/' | xargs grep -hoE 'getenv\("[A-Z_]+"|environment_get\([^"]*"[A-Z_]+"' |
	grep -oE '[A-Z_]{3,}' | sort -u | grep -vxE 'PATH|TERM' |
	while read -r name; do grep -qE "^\.B .*\<$name\>" man/krait.1.in || echo "$name isn't in the manual page"; done)"

# Only this version of clang-format is used, because others format differently.
if [[ $(clang-format --version 2>&1) == *'version 14'* ]]; then
	verdict layout "$(sources | xargs clang-format --dry-run 2>&1 | grep -E 'warning:' | cut -d: -f1 | sort | uniq -c)"
else
	echo "SKIP rules layout: no clang-format 14"
fi
if command -v shellcheck >/dev/null; then
	# Only shellcheck's errors count. A reader has to weigh its warnings.
	verdict shell "$(scripts | xargs shellcheck -S error 2>&1)"
else
	echo "SKIP rules shell: no shellcheck"
fi
exit $bad
