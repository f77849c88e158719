#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""oci.py FILE VERSION ARCH=BINARY...: writes an OCI image (image-layout 1.0 in a tar file) with
/krait and an empty /tmp, for each architecture. ARCH is what `uname -m` prints. The same input
gives the same bytes (SOURCE_DATE_EPOCH). Uses only Python's standard library."""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import time

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
TYPE = "application/vnd.oci.image."
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
CREATED = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))


class Layout:
    """Collects the files of an OCI image layout."""

    def __init__(self):
        self.files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}

    def blob(self, media_type, data, **more):
        """Adds a file to the layout. Returns the descriptor by which other files refer to this
        file."""
        digest = hashlib.sha256(data).hexdigest()
        self.files["blobs/sha256/" + digest] = data
        return dict({"mediaType": TYPE + media_type, "digest": "sha256:" + digest, "size": len(data)}, **more)


def as_json(value):
    return json.dumps(value, sort_keys=True).encode()


def tar_of(files):
    """Returns the bytes of a layer. @files: {name: (mode, data)}; a name without data is a
    directory."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (mode, data) in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.mode, info.mtime = mode, EPOCH
            info.type = tarfile.REGTYPE if data else tarfile.DIRTYPE
            info.size = len(data or b"")
            tar.addfile(info, io.BytesIO(data or b""))
    return out.getvalue()


def add_image(layout, version, arch, binary):
    layer = tar_of({"krait": (0o755, binary), "tmp": (0o1777, None)})
    config = {
        "architecture": ARCHITECTURES[arch],
        "os": "linux",
        "created": CREATED,
        "config": {"Entrypoint": ["/krait"], "Cmd": ["help"], "Labels": {"org.opencontainers.image.version": version}},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": CREATED, "created_by": "krait " + version}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": TYPE + "manifest.v1+json",
        "config": layout.blob("config.v1+json", as_json(config)),
        "layers": [layout.blob("layer.v1.tar+gzip", gzip.compress(layer, 9, mtime=0))],
    }
    return layout.blob("manifest.v1+json", as_json(manifest), platform={"os": "linux", "architecture": ARCHITECTURES[arch]})


def main(path, version, *images):
    layout, manifests = Layout(), []
    for image in images:
        arch, _, binary = image.partition("=")
        with open(binary, "rb") as f:
            manifests.append(add_image(layout, version, arch, f.read()))
    # The image of each architecture also has a name of its own, for tools that don't understand a
    # list of images.
    named = [dict(m, annotations={"org.opencontainers.image.ref.name": m["platform"]["architecture"]}) for m in manifests]
    every = layout.blob("index.v1+json", as_json({"schemaVersion": 2, "mediaType": TYPE + "index.v1+json", "manifests": manifests}))
    named.insert(0, dict(every, annotations={"org.opencontainers.image.ref.name": "latest"}))
    layout.files["index.json"] = as_json({"schemaVersion": 2, "manifests": named})
    with open(path, "wb") as f:
        f.write(tar_of({name: (0o644, data) for name, data in layout.files.items()}))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
