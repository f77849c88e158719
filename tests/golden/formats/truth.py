# SPDX-License-Identifier: BSD-2-Clause
"""Sums over a recording, made from the pprof file by tests/oracle/judge/pprof.py, for the tests of
formats."""

import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "oracle"))
from judge import pprof  # noqa: E402


class Results:
    """Prints one line for each test; exits with 1 if one has failed."""

    failed = False

    def __call__(self, name, wrong):
        """Prints the result of a test. @wrong: the list of differences."""
        self.failed |= bool(wrong)
        print(f"FAIL {name}: {len(wrong)} differ, first: {str(wrong[0])[:300]!r}" if wrong else f"PASS {name}")

    def exit(self):
        sys.exit(self.failed)


def difference(want, got):
    return [f"{key}: want {want.get(key)}, got {got.get(key)}"
            for key in sorted(want.keys() | got.keys(), key=str) if want.get(key) != got.get(key)]


def frame(location):
    """Returns (name, file) as formats without mappings show them."""
    name, mapping = location.name, location.mapping
    if not name:
        where = os.path.basename(mapping) if mapping[:1] != "[" else mapping.strip("[]")
        name = f"[{where}+{location.address:#x}]"
    file = location.file
    if not file and location.kind not in ("python", "mark"):
        file = mapping
    return name, file


class Truth:
    """A recording with the sums of its default value: by thread, and by sums(), which returns {key:
    [self, total]} for the keys that a function makes of locations."""

    def __init__(self, path):
        self.profile = p = pprof.read(path)
        kinds = [kind for kind, _ in p.sample_types]
        self.value = kinds.index(p.default_type)
        self.stacks = [(s, p.stack(s)) for s in p.samples]
        self.total = sum(s.values[self.value] for s in p.samples)
        self.threads = collections.Counter()
        for s in p.samples:
            self.threads[self.thread(s)] += s.values[self.value]

    @staticmethod
    def thread(sample):
        return sample.labels.get("pid", ""), sample.labels.get("tid", "")

    def sums(self, key, wanted=lambda sample: True):
        out = collections.defaultdict(lambda: [0, 0])
        for sample, stack in self.stacks:
            if not wanted(sample):
                continue
            value = sample.values[self.value]
            keys = [key(location) for location in stack]
            for k in set(keys):
                out[k][1] += value
            if keys:
                out[keys[-1]][0] += value
        return dict(out)
