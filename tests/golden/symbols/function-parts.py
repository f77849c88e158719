# SPDX-License-Identifier: BSD-2-Clause
"""function-parts.py TOOL NAME STRIPPED DEBUG: for each symbol X.cold of the debug file, the tool
must say that this part of the stripped file belongs to X."""
import collections
import subprocess
import sys

# The share of parts whose owner krait must find; the second number holds for a file with fewer than
# 100 parts. Some owners can't be found: no jump leads to the part (landing pads, tables of
# addresses), or several parts are folded into one.
LEAST = 0.85, 0.5

tool, name, stripped, debug = sys.argv[1:]
names = collections.defaultdict(set)
for line in subprocess.run(["nm", debug], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
    words = line.split()
    if len(words) == 3 and words[1] in "tTwW":
        names[int(words[0], 16)].add(words[2])
parts = [(at, symbol[:-len(".cold")]) for at, all_of_it in names.items() for symbol in all_of_it if symbol.endswith(".cold")]
out = subprocess.run([tool, stripped], input="".join("%x\n" % at for at, _ in parts), stdout=subprocess.PIPE, text=True, check=True).stdout
found = [int(line, 16) for line in out.split()]
wrong = [(at, whole) for (at, symbol), whole in zip(parts, found) if whole and symbol not in names[whole]]
known = sum(map(bool, found))
good = len(found) == len(parts) > 10 and not wrong and known >= LEAST[len(parts) < 100] * len(parts)
print("%s function-parts %s: %d parts, %d known, %d wrong%s" % (
    "PASS" if good else "FAIL", name, len(parts), known, len(wrong),
    "".join(", %x -> %x" % w for w in wrong[:5])))
sys.exit(not good)
