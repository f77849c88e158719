# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# python-build-standalone (the Python of uv, rye and hatch), from a Go module that contains it,
# because machines that build can usually reach the module proxy. Sourced.
#
# 3.14 is the only tail-calling interpreter here, and the only one BOLT has rearranged.

PBS_MODULE=github.com/kluctl/go-embed-python
PBS_VERSIONS="v0.0.0-3.14.6-20260610-1:tailcall v0.0.0-3.11.11-20241219-1:shared"

setup_pbs() {
	local entry
	have go || fail "no Go tool chain on this machine"
	for entry in $PBS_VERSIONS; do
		pbs_one "${entry%%:*}" "${entry##*:}"
	done
}

# Prints what Go says about the module, as JSON. If Go can't get it, the JSON says why.
pbs_download() {
	(
		cd "$KRAIT_TEST_CACHE/pbs/mod" || exit
		[ -f go.mod ] || go mod init krait-tests 2>/dev/null
		go mod download -json "$PBS_MODULE@$1" || true
	)
}

pbs_one() {
	local version=$1 kind=$2 minor src dir
	minor=$(echo "$version" | sed -n 's/^v0\.0\.0-\(3\.[0-9]*\)\..*/\1/p')
	dir=$KRAIT_TEST_CACHE/pbs/$minor
	mkdir -p "$KRAIT_TEST_CACHE/pbs/mod"
	src=$(pbs_download "$version" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
	[ -d "$src" ] || fail "$PBS_MODULE@$version: $(pbs_download "$version" | grep -o '"Error": .*')"
	rm -rf "$dir"
	cp -r "$src/python/internal/data/linux-$(pbs_arch)" "$dir"
	chmod -R u+w "$dir"
	find "$dir" -name '*.gz' -exec gunzip {} +
	chmod +x "$dir"/bin/*
	register "python$minor-pbs" "$kind" "$dir/bin/python$minor"
}

pbs_arch() { uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/'; }
