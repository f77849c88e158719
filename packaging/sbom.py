#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sbom.py BINARY FILE: writes the parts of a static krait as SPDX 2.3 (JSON): the libraries that
`krait version` names, with their licences. Uses only Python's standard library."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time

# The libraries that are linked into krait, each with its licence and its origin.
LIBRARIES = {
    "zlib": ("Zlib", "https://zlib.net"),
    "zstd": ("BSD-3-Clause OR GPL-2.0-only", "https://github.com/facebook/zstd"),
    "xxHash": ("BSD-2-Clause", "https://github.com/Cyan4973/xxHash"),
    "libcap": ("BSD-3-Clause OR GPL-2.0-only", "https://sites.google.com/site/fullycapable"),
    "libbpf": ("LGPL-2.1-only OR BSD-2-Clause", "https://github.com/libbpf/libbpf"),
    "elfutils": ("GPL-2.0-or-later OR LGPL-3.0-or-later", "https://sourceware.org/elfutils"),
    "SQLite": ("blessing", "https://sqlite.org"),
    "xz": ("LicenseRef-PublicDomain", "https://tukaani.org/xz"),
}
# These libraries don't tell their versions, so the list has the versions of the compiler's packages
# instead.
UNSAID = {
    "glibc": ("LGPL-2.1-or-later", "https://www.gnu.org/software/libc", "libc6-dev"),
    "libiberty": ("LGPL-2.0-or-later", "https://gcc.gnu.org", "libiberty-dev"),
}


def package_version(name):
    """Returns the version of the Debian package @name, if this machine runs Debian."""
    done = subprocess.run(["sh", "-c", 'dpkg-query -W -f \'${Version}\' "$1" 2>/dev/null', "sh", name], stdout=subprocess.PIPE)
    return done.stdout.decode() or "NOASSERTION"


def package(name, version, licence, home):
    return {
        "SPDXID": "SPDXRef-" + name,
        "name": name,
        "versionInfo": version,
        "downloadLocation": home,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "filesAnalyzed": False,
    }


def relation(a, kind, b):
    return {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}


def document(binary):
    said = subprocess.run([binary, "version"], check=True, stdout=subprocess.PIPE).stdout.decode()
    version = said.split()[1]
    with open(binary, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    krait = package("krait", version, "BSD-2-Clause AND (GPL-2.0-only OR BSD-2-Clause)", "NOASSERTION")
    krait["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    parts = [package(name, number, *LIBRARIES[name]) for name, number in re.findall(r"(\S+) ([\d.]+)(?:,|$)", said.splitlines()[-1])]
    parts += [package(name, package_version(source), licence, home) for name, (licence, home, source) in UNSAID.items()]
    now = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "krait-" + version,
        "documentNamespace": "https://spdx.org/spdxdocs/krait-%s-%s" % (version, digest),
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", now), "creators": ["Tool: krait-sbom"]},
        "packages": [krait] + parts,
        "hasExtractedLicensingInfos": [{
            "licenseId": "LicenseRef-PublicDomain", "extractedText": "liblzma is in the public domain (xz's COPYING)."}],
        "relationships": [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-krait")]
        + [relation("SPDXRef-krait", "STATIC_LINK", p["SPDXID"]) for p in parts],
    }


def main(binary, path):
    with open(path, "w") as f:
        json.dump(document(binary), f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
