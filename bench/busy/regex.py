# SPDX-License-Identifier: BSD-2-Clause
"""Uses regular expressions, some with deep backtracking, with replacements made by a function; and
JSON."""
import json
import re

import busy

TEXT = "The quick brown fox 12345 jumps over 67 lazy dogs; a1b2c3. " * 40
NESTED = json.dumps({"a": [{"b": [i, {"c": str(i)}]} for i in range(100)]})
DEEP = re.compile(r"(?:(?:a|ab)*c|(?:a|b)*d)+$")


def replaced(match):
    return sorted(match.group(0), key=str.lower)[0] * 2


def hook(pairs):
    return {key: re.sub("[0-9]", replaced, key) for key, _ in pairs}


def round_():
    re.sub(r"\w+", replaced, TEXT)
    re.findall(r"(\w+)\s+(\d+)|([a-z]\d)+", TEXT)
    DEEP.match("ab" * 40 + "e")
    re.split(r"\W+", TEXT)
    json.loads(NESTED, object_pairs_hook=hook)


busy.run(round_)
