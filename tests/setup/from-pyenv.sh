# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Interpreters that pyenv has built on this machine: the only source of 2.7 and 3.6 to 3.10.
# Sourced.

setup_pyenv() {
	local root=${PYENV_ROOT:-$HOME/.pyenv} exe minor
	[ -d "$root/versions" ] || fail "no pyenv on this machine"
	forget 'python*-pyenv'
	for exe in "$root"/versions/*/bin/python[23].[0-9]*; do
		minor=${exe##*/python}
		[[ $minor =~ ^[23]\.[0-9]+$ && -x $exe ]] || continue
		register "python$minor-pyenv" "$(pyenv_kind "$exe")" "$exe"
	done
}

salt_pyenv() { ls "${PYENV_ROOT:-$HOME/.pyenv}/versions" 2>/dev/null || true; }

pyenv_kind() {
	"$1" -c 'import sysconfig
print("shared" if sysconfig.get_config_var("Py_ENABLE_SHARED") else "static")'
}
