#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rpm.sh [BINARY]: builds the rpm package of a release's archive and tests it. Two builds have the
# same bytes, rpm2cpio can unpack the package, its krait runs, its metadata is right, and no file in
# it has capabilities or another owner than root. rpm and dnf install and remove the package, each
# in an empty root: the installed krait records, and afterwards the same files are there as before.
# BINARY: a static krait; without it, the script builds one.
. "$(dirname "$0")/../kit.sh" rpm
for tool in rpmbuild rpm2cpio cpio; do
	command -v $tool >/dev/null || skip_all "no $tool"
done
arch=$(uname -m)
krait=${1:-build/static/stripped/krait}
[ $# -gt 0 ] || make -s STATIC=1 stripped || { echo "FAIL rpm: no static binary"; exit 1; }

# Makes an archive like that of packaging/dist.sh, but doesn't build the manual page again.
release=krait-0.1+test-linux-$arch
share=$work/$release/share
install -D -m 755 "$krait" "$work/$release/bin/krait"
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
"$krait" man <man/krait.1.in >"$share/man/man1/krait.1"
"$krait" completion bash >"$share/bash-completion/completions/krait"
"$krait" completion zsh >"$share/zsh/site-functions/_krait"
"$krait" completion fish >"$share/fish/vendor_completions.d/krait.fish"
install -D -m 644 -t "$share/krait/schema" docs/schema/*.schema.json
units=$work/$release/lib/systemd/system
install -D -m 644 packaging/systemd/krait-agent.service.in "$units/krait-agent.service"
install -m 644 packaging/systemd/krait-agent-serve.service.in "$units/krait-agent-serve.service"
sed -i 's,@BIN@,/usr/local/bin,' "$units"/krait-agent*.service
install -m 644 -t "$units" packaging/systemd/krait-agent-serve.socket
install -D -m 644 packaging/systemd/krait.sysusers "$work/$release/lib/sysusers.d/krait.conf"
install -m 644 -t "$work/$release" LICENSE README.md
install -D -m 644 -t "$work/$release/LICENSES" LICENSES/*
tar -C "$work" -czf "$work/$release.tar.gz" "$release"

export SOURCE_DATE_EPOCH=1700000000
mkdir "$work/1" "$work/2" "$work/root"
made_in() { packaging/rpm.sh "$work/$release.tar.gz" "$arch" "$1" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }; }
check made made_in "$work/1"
[ $bad = 0 ] || exit 1
sleep 1
check made-again made_in "$work/2"
rpm=$(find "$work/1" -name '*.rpm')
check same-bytes cmp "$rpm" "$work/2/${rpm##*/}"
unpack() { rpm2cpio "$rpm" | ( cd "$work/root" && cpio -idm --quiet ); }
check unpack unpack
check runs "$work/root/usr/bin/krait" --version
check says [ "$(rpm -qp --nosignature --qf '%{NAME} %{VERSION} %{ARCH}' "$rpm")" = "krait 0.1+test $arch" ]
plain() { [ -z "$(rpm -qp --nosignature --qf '[%{FILECAPS}\n]' "$rpm" | grep .)" ] &&
	[ "$(rpm -qp --nosignature --qf '[%{FILEUSERNAME}\n]' "$rpm" | sort -u)" = root ]; }
check no-capabilities plain
# A package with a static binary requires no library.
no_needs() { [ -z "$(rpm -qp --nosignature --requires "$rpm" | grep -v '^rpmlib(')" ]; }
check needs-nothing no_needs
same_files() { diff <(cd "$work/$release" && find bin share lib -type f | sed 's/krait\.1$/krait.1.gz/' | sort) \
	<(cd "$work/root/usr" && find bin share lib -type f | grep -v -e '^share/doc/' -e '^share/licenses/' | sort); }
check files same_files
check unit grep -q '^ExecStart=/usr/bin/krait agent run$' "$work/root/usr/lib/systemd/system/krait-agent.service"
check unit-of-server grep -q '^ExecStart=/usr/bin/krait agent serve ' "$work/root/usr/lib/systemd/system/krait-agent-serve.service"

busy='
import time
def busy_of_rpm():
    end = time.process_time() + 0.5
    while time.process_time() < end: pass
busy_of_rpm()'
# records ROOT: checks that the krait in ROOT records a program, with its function and line
records() {
	"$1/usr/bin/krait" record -q -o "$work/x.folded" --lines -- /usr/bin/python3 -c "$busy" && grep -q 'busy_of_rpm.*:5' "$work/x.folded"
}
# Lists all files in a root, without the records that rpm and dnf keep themselves.
listed() { ( cd "$1" && find . -path ./var -prune -o -print | LC_ALL=C sort ); }
# with_tool TOOL INSTALL REMOVE: installs and removes the package in a new root; INSTALL and REMOVE
# are functions whose argument is the root
with_tool() {
	local root=$work/$1-root
	mkdir "$root"
	rpm --root "$root" --initdb
	# Real systems already have these folders, and dnf makes its own.
	mkdir -p "$root"/etc/dnf/modules.d "$root"/usr/{bin,lib/{systemd/system,sysusers.d},share/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,doc,licenses}}
	listed "$root" >"$work/before"
	check "$1-install" "$2" "$root"
	check "$1-files" owned "$root"
	check "$1-verify" rpm --root "$root" -V krait
	[ "$(id -u)" != 0 ] || check "$1-records" records "$root"
	check "$1-remove" "$3" "$root"
	listed "$root" >"$work/after"
	check "$1-leaves-nothing" diff "$work/before" "$work/after"
}
# rpm's database lists exactly the files that the package added.
owned() { diff <(rpm --root "$1" -ql krait | sort) <(listed "$1" | diff "$work/before" - | sed -n 's/^> \.//p' | sort); }
rpm_install() { rpm --root "$1" -i --nosignature "$rpm"; }
rpm_remove() { rpm --root "$1" -e krait; }
with_tool rpm rpm_install rpm_remove

# in_root_dnf ROOT COMMAND...: runs dnf in ROOT. dnf knows only the folder with the packages.
in_root_dnf() {
	dnf -q -y --installroot "$1" --releasever 1 --setopt reposdir=/dev/null --setopt cachedir=/var/cache/dnf --setopt logdir=/var/log --nogpgcheck \
		--repofrompath "krait,file://$work/1" "${@:2}" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
}
dnf_install() { createrepo_c -q "$work/1" && in_root_dnf "$1" install krait; }
dnf_remove() { in_root_dnf "$1" remove krait; }
if command -v dnf >/dev/null && command -v createrepo_c >/dev/null; then
	with_tool dnf dnf_install dnf_remove
else
	echo "SKIP rpm dnf: no dnf, or no createrepo_c"
fi
exit $bad
