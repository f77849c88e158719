#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# install.sh: `make install` puts everything in place, and the installed files work: groff finds no
# fault in the manual page, and bash, zsh and fish complete krait's command lines.
. "$(dirname "$0")/../kit.sh" install
root=$work
have() { command -v "$1" >/dev/null || { echo "SKIP install $2: no $1"; return 1; }; }

make install DESTDIR="$root" PREFIX=/usr >"$root/log" 2>&1 || { cat "$root/log"; echo "FAIL install: make"; exit 1; }
share=$root/usr/share
krait=$root/usr/bin/krait

# Checks that the manual page has every option of --help.
all_options_documented() {
	local option
	for option in $("$krait" record --help | grep -oE '^ .{0,5} --[a-z-]+' | grep -oE -- '--[a-z-]+'); do
		grep -q -- "${option//-/\\\\-}" "$share/man/man1/krait.1" || { echo "$option missing"; return 1; }
	done
}

no_markers_left() { ! grep -n '^@' "$share/man/man1/krait.1"; }
lint_is_silent() { [ -z "$(groff -man -ww -z -Tutf8 "$share/man/man1/krait.1" 2>&1)" ]; }

# Checks that each schema of the repository is installed where the manual page says.
schemas_are_there() {
	local place
	place=$(grep -oE '\(/usr/local/share/[a-z/]+' "$share/man/man1/krait.1") && diff -r docs/schema "$root/usr/${place#(/usr/local/}"
}

in_bash() { # in_bash LINE...: prints what bash offers if Tab is pressed after these words
	bash --norc -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _krait
		echo "${COMPREPLY[*]}"' bash "$share/bash-completion/completions/krait" "$@"
}
in_fish() { # LINE
	fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \
		"$share/fish/vendor_completions.d/krait.fish" "$1" | cut -f1 | tr '\n' ' '
}

# zsh completes only on a terminal. So in_zsh runs zsh on a terminal, types LINE, presses Tab, and
# prints how zsh completed the line.
in_zsh() { # LINE
	HOME=$root python3 - "$share/zsh/site-functions" "$1" <<'PY'
import os, pty, re, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execvp("zsh", ["zsh", "-f"])
def until(pattern, seconds=10):
    got, end = b"", time.time() + seconds
    while time.time() < end and not re.search(pattern, got):
        if select.select([fd], [], [], 0.1)[0]:
            try:
                got += os.read(fd, 65536)
            except OSError:
                break
    return got
os.write(fd, b"fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D; PS1='rea''dy '; unsetopt zle_bracketed_paste; stty cols 200\n" % sys.argv[1].encode())
until(b"ready ")
os.write(fd, sys.argv[2].encode() + b"\t")
until(re.escape(sys.argv[2].encode()) + rb"\S+", 5)
os.write(fd, b"\x01echo 'IS: \x05'\n")
out = until(rb"\nIS: [^\n]*\n").decode(errors="replace")
os.close(fd)
print(re.findall(r"\nIS: ([^\r\n]*)", out)[-1].strip() if "\nIS: " in out else out)
PY
}

# systemd checks the units. They run the krait that was installed here.
units=$root/usr/lib/systemd/system
unit=$units/krait-agent.service
server=$units/krait-agent-serve.service
units_are_valid() {
	local here=$work/unit file said
	mkdir -p "$here"
	for file in "$units"/krait-agent*; do
		sed "s,/usr/bin/krait,$krait,; /^Documentation=/d" "$file" >"$here/${file##*/}"
	done
	said=$(systemd-analyze verify "$here"/* 2>&1) && [ -z "$said" ] || { echo "$said"; return 1; }
}
# systemd-analyze scores how exposed a service is: 10 means that it has no limit at all (the
# threshold is in tenths). The agent's score can't be lower, because sampling all processes takes
# rights.
unit_is_tight() { systemd-analyze security --offline=true --threshold="$2" "$1" >"$root/log" 2>&1 || { cat "$root/log"; return 1; }; }
user_is_made() { mkdir -p "$root/etc" && systemd-sysusers --root="$root" "$root/usr/lib/sysusers.d/krait.conf" && grep -q '^krait:' "$root/etc/passwd" "$root/etc/group"; }

equals() { # equals WANTED GOT: compares two texts
	[ "${2% }" = "$1" ] || { echo "wanted '$1', got '$2'"; return 1; }
}

check binary "$krait" --version
check options-in-manual all_options_documented
check manual-complete no_markers_left
check schemas schemas_are_there
have groff manual-lint && check manual-lint lint_is_silent
check bash-command equals record "$(in_bash krait rec)"
check bash-option equals --frequency "$(in_bash krait record --fre)"
check bash-option-without-command equals --frequency "$(in_bash krait --fre)"
check bash-value equals always "$(in_bash krait record --color = al)"
check bash-event equals cpu-clock "$(in_bash krait record -e cpu-cl)"
check bash-format equals folded "$(in_bash krait record --format fo)"
check bash-help-operand equals formats "$(in_bash krait help fo)"
check bash-help-option equals --help "$(in_bash krait help --he)"
if have fish fish; then
	check fish-command equals record "$(in_fish 'krait rec')"
	check fish-option equals --frequency "$(in_fish 'krait record --fre')"
	check fish-value equals --color=always "$(in_fish 'krait record --color=al')"
	check fish-report-format equals text "$(in_fish 'krait report --format te')"
	check fish-event equals cpu-clock "$(in_fish 'krait record -e cpu-cl')"
fi
if have zsh zsh; then
	check zsh-command equals 'krait record' "$(in_zsh 'krait rec')"
	check zsh-option equals 'krait record --frequency' "$(in_zsh 'krait record --freq')"
	check zsh-option-without-command equals 'krait --frequency' "$(in_zsh 'krait --freq')"
	check zsh-event equals 'krait record -e cpu-clock' "$(in_zsh 'krait record -e cpu-cl')"
fi
check unit-program grep -q '^ExecStart=/usr/bin/krait agent run$' "$unit"
check server-program grep -q '^ExecStart=/usr/bin/krait agent serve ' "$server"
if have systemd-analyze unit; then
	check unit-verify units_are_valid
	check unit-security unit_is_tight "$unit" 25
	check server-security unit_is_tight "$server" 25
fi
have systemd-sysusers user && check sysusers user_is_made
make uninstall DESTDIR="$root" PREFIX=/usr >"$root/log" 2>&1
check uninstall [ -z "$(find "$root/usr" -type f -o -name krait)" ]
exit $bad
