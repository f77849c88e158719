# SPDX-License-Identifier: BSD-2-Clause
"""The build backend of a package. pip runs it in a process that pip starts for it."""
import os
import zipfile

from measured import is_over, measured

import helpers

META = "Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n"


def assets():
    while not is_over():
        with measured:
            helpers.step()
        for name in os.listdir(os.path.dirname(os.__file__))[:20]:
            yield name, name.encode() * 4000


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "shop-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for asset, data in dict(assets()).items():
            wheel.writestr("shop/" + asset, data)
        wheel.writestr("shop-1.0.dist-info/METADATA", META)
        wheel.writestr("shop-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("shop-1.0.dist-info/RECORD", "")
    return name
