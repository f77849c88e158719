#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""planted.py [FOLDER] [--small] [--judge]: does `krait diff` name the function that got slower, and
no other?

There are five programs. Each is recorded as a batch, which does a number of rounds and ends, and as
a server, of which a few seconds are recorded while a client counts its answers. Each is recorded in
four pairs. In the second recording of a pair, one function (the planted one) does more steps, so
many that a round costs 5, 5, 10 or 25 % more CPU time. The number of steps follows from what the
functions take, which the program measures with time.process_time(). The twenty pairs of batches are
compared per run, the twenty pairs of servers with --per.

In each recording the program also says what its functions took. On a busy machine the speed changes
between two recordings, and then another function's cost may change more than that of the planted
one. Such a pair is recorded again.

planted: of diff's rows with an own cost, the first one must be that of the planted function, and
    its cost must have risen: in all pairs of 10 and 25 %, and in 18 of 20 pairs of 5 %. (How often
    diff's first line names that function is only printed.) No first line may call another function
    dearer or cheaper.
without --per: the pairs of servers are compared again, and no function may be called dearer or
    cheaper.
same: 40 pairs of recordings in which no function is slower. In at least 38 of them, diff's first
    line must say "no more than noise".

--small: tests one case only, two.py, in which hot() does 1.5 times as much work and parse() as much
as before. --judge: makes no recordings, and judges those in FOLDER. Recording needs root.
KRAIT_PLANTED_SECONDS: CPU time of a recording (default 5)."""
import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
from judge import pprof  # noqa: E402
KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
SECONDS = float(os.environ.get("KRAIT_PLANTED_SECONDS", "5"))
HZ = 1999
REGRESSIONS = (5, 5, 10, 25)  # percent of a round
# The C library returns memory to the kernel when the end of its heap is free. In some processes
# zlib's buffers happen to be at that end, and compressing takes twice the time. With these
# variables the C library keeps the memory.
os.environ.update(MALLOC_TRIM_THRESHOLD_=str(1 << 30), MALLOC_MMAP_THRESHOLD_=str(32 << 20))
TRIES = 5
failed = False

# The common end of the programs: a round calls each function with its number of steps. The
# arguments give the number of rounds, or make the program serve or measure, and name the slower
# function.
MAIN = r"""
took = {}

def work(steps):
    for name, n in steps.items():
        begin = time.process_time()
        globals()[name](n)
        took[name] = took.get(name, 0) + time.process_time() - begin

def measure():
    out = {}
    for name, n in STEPS.items():
        globals()[name](n)
        begin, times = time.process_time(), 0
        while time.process_time() - begin < 0.15:
            globals()[name](n)
            times += 1
        out[name] = (time.process_time() - begin) / times
    print(json.dumps(out))

def batch(rounds, steps):
    for _ in range(rounds):
        work(steps)
    print(json.dumps({name: t / rounds for name, t in took.items()}))

def serve(steps):
    rounds = 0
    for line in sys.stdin.buffer:
        work(steps)
        rounds += 1
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    print(json.dumps({name: t / rounds for name, t in took.items()}))

def main():
    steps = dict(STEPS)
    if sys.argv[2]:
        steps[sys.argv[2]] = round(steps[sys.argv[2]] * float(sys.argv[3]))
    if sys.argv[1] == "measure":
        measure()
    elif sys.argv[1] == "serve":
        serve(steps)
    else:
        batch(int(sys.argv[1]), steps)

main()
"""
PROGRAMS = {
    # Loops of Python.
    "loops": r"""
import json, sys, time
def tally(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total
def sieve(n):
    marks = bytearray(n)
    for i in range(2, n):
        if not marks[i] and i * i < n:
            for k in range(i * i, n, i):
                marks[k] = 1
def collatz(n):
    for i in range(1, n):
        while i != 1:
            i = i // 2 if i % 2 == 0 else 3 * i + 1
def words(n):
    seen = {}
    for i in range(n):
        seen[i % 97] = seen.get(i % 97, 0) + 1
STEPS = {"tally": 24000, "sieve": 9000, "collatz": 300, "words": 14000}
""",
    # Libraries in C.
    "native": r"""
import hashlib, json, re, sys, time, zlib
TEXT, PATTERN, DATA = "abc-123 " * 40, re.compile(r"(\w+)-(\d+)"), b"0123456789" * 300
def digest(n):
    for _ in range(n):
        hashlib.sha256(DATA).digest()
def match(n):
    for _ in range(n):
        PATTERN.findall(TEXT)
def pack(n):
    for _ in range(n):
        zlib.compress(DATA, 6)
def order(n):
    for _ in range(n):
        sorted(DATA[:300])
STEPS = {"digest": 350, "match": 90, "pack": 25, "order": 80}
""",
    # uses a database, and works on its rows in Python
    "base": r"""
import json, sqlite3, sys, time
base = sqlite3.connect(":memory:")
base.execute("create table t (a integer, b text)")
base.executemany("insert into t values (?, ?)", [(i, str(i)) for i in range(300)])
def query(n):
    for _ in range(n):
        base.execute("select sum(a) from t where a < 60 and b like '%7%'").fetchall()
def rows(n):
    for _ in range(n):
        for a, b in base.execute("select a, b from t where a < 50"):
            a + len(b)
def join(n):
    for _ in range(n):
        ",".join(map(str, range(300)))
STEPS = {"query": 60, "rows": 50, "join": 40}
""",
    # one function takes most of the time
    "large": r"""
import json, sys, time
def score(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total
def fill(n):
    out = []
    for i in range(n):
        out.append((i, i))
    return out
def text(n):
    for i in range(n):
        "%d of %d" % (i, n)
STEPS = {"score": 45000, "fill": 9000, "text": 5000}
""",
    # makes objects whose methods call each other
    "objects": r"""
import json, sys, time
class Node:
    def __init__(self, value, left, right):
        self.value, self.left, self.right = value, left, right
def grow(n):
    if n < 2:
        return None
    return Node(n, grow(n // 2), grow(n - n // 2 - 1))
def add(node):
    return node.value + add(node.left) + add(node.right) if node else 0
def build(n):
    grow(n)
TREE = grow(100)
def walk(n):
    for _ in range(n):
        add(TREE)
def count(n):
    total = 0
    for i in range(n):
        total += len(str(i))
    return total
def swap(n):
    values = list(range(200))
    for i in range(n):
        k = i * 7 % 200
        values[k], values[-k] = values[-k], values[k]
STEPS = {"build": 2400, "walk": 100, "count": 9000, "swap": 12000}
""",
}
# {function: the functions to which it leaves most of its work}. If such a function is made slower,
# the cost of these other functions rises.
SAME = {"build": ("grow", "__init__"), "walk": ("add",)}
TWO = r"""
import json, sys, time
def parse(n):
    total = 0
    for i in range(n):
        total += len(str(i))
def hot(n):
    total = 0
    for i in range(n):
        total += i & 3
took = {"parse": 0, "hot": 0}
for _ in range(200):
    for work, n in (parse, 6000), (hot, int(40000 * float(sys.argv[1]))):
        begin = time.process_time()
        work(n)
        took[work.__name__] += time.process_time() - begin
print(json.dumps(took))
"""


def verdict(name, true, words):
    global failed
    print("%s diff %s%s" % ("PASS" if true else "FAIL", name, " (%s)" % words if true else ": " + words), flush=True)
    failed |= not true


def script(folder, name, text):
    """Writes the script to a folder of its own; real.py says why."""
    path = os.path.join(folder, "scripts", name)
    os.makedirs(path, exist_ok=True)
    path = os.path.join(path, name + ".py")
    with open(path, "w") as f:
        f.write(text)
    return path


def krait(*args):
    done = subprocess.run([KRAIT, *args], capture_output=True, timeout=600, check=True)
    return done.stdout.decode()


def measured(path):
    """Measures the functions of a program. Returns {function: seconds per round}, each the median
    of five processes."""
    of = [json.loads(subprocess.run([sys.executable, path, "measure", ""], capture_output=True, check=True).stdout) for _ in range(5)]
    return {name: sorted(m[name] for m in of)[2] for name in of[0]}


def record_batch(path, out, rounds, planted):
    """Records a batch. Returns {function: seconds per round}, as the program measured them."""
    return json.loads(krait("record", "-q", "-F", str(HZ), "-o", out, "--", sys.executable, path, str(rounds), *planted))


def record_server(path, out, planted):
    """Records a server. Returns {function: seconds per request}, as the program measured them, and
    the number of requests answered during the recording."""
    with subprocess.Popen([sys.executable, path, "serve", *planted], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        def ask():
            server.stdin.write(b"x\n")
            server.stdin.flush()
            server.stdout.readline()
            ends.append(time.time_ns())

        ends = []
        ask()
        with subprocess.Popen([KRAIT, "record", "-q", "-F", str(HZ), "-o", out, "-p", str(server.pid), "-d", "%gs" % (SECONDS * 1.2)]) as recorder:
            while recorder.poll() is None:
                ask()
        server.stdin.close()
        took = json.loads(server.stdout.read())
    p = pprof.read(out)
    return took, sum(p.time_nanos <= t <= p.time_nanos + p.duration_nanos for t in ends)


def record_pair(kind, path, files, rounds, slower):
    """Makes the two recordings of a pair. Returns ([what the functions took in the first, in the
    second], as the program measured it; [number of requests in the first, in the second], for a
    server)."""
    took, counts = [], []
    for out, planted in zip(files, (("", ""), slower)):
        if kind == "batch":
            took.append(record_batch(path, out, rounds, planted))
        else:
            of, n = record_server(path, out, planted)
            took.append(of)
            counts.append(n)
    return took, counts


def changed_most(took):
    """Returns the function whose cost changed most, and by how many seconds per round."""
    changes = {name: took[1][name] - took[0][name] for name in took[0]}
    return max(changes.items(), key=lambda c: abs(c[1]))


def make(folder):
    """Records all programs. pairs.json has for each pair the two files, the slower function, by how
    many percent of a round it is slower, and the numbers of requests."""
    pairs = []
    paths = {name: script(folder, name, text + MAIN) for name, text in PROGRAMS.items()}
    costs = {name: measured(path) for name, path in paths.items()}
    for i, percent in enumerate(REGRESSIONS):
        for name, path in paths.items():
            cost = costs[name]
            whole, function = sum(cost.values()), sorted(cost)[i % len(cost)]
            slower = (function, "%.6f" % (1 + percent / 100 * whole / cost[function]))
            for kind in "batch", "server":
                files = [os.path.join(folder, "%s-%s-%d-%s.pb.gz" % (kind, name, i, side)) for side in ("before", "after")]
                for again in range(TRIES):
                    took, counts = record_pair(kind, path, files, int(SECONDS / whole), slower)
                    most, by = changed_most(took)
                    if most == function and by > 0:
                        break
                pairs.append({"kind": kind, "program": name, "files": files, "function": function, "percent": percent, "requests": counts,
                              "again": again, "true": most == function and by > 0})
                with open(os.path.join(folder, "pairs.json"), "w") as f:
                    json.dump(pairs, f)


def diff(files, *args):
    return json.loads(krait("diff", *files, "--json", *args))


def per(pair):
    return ["--per", "requests=%d,%d" % tuple(pair["requests"])] if pair["requests"] else []


CALLED = re.compile(r"(\S+) (?:takes [\d.]+ % (more|less) |is (new|gone): )")


def called(got):
    """Returns the function that diff's first line calls dearer or cheaper, and the line's word for
    the change ("more", "less", "new", "gone"), or (None, None)."""
    found = CALLED.search(got["summary"])
    return (found[1].split(".")[-1], found[2] or found[3]) if found else (None, None)


def judge_planted(pairs):
    # {(kind, percent): [pairs, pairs whose first row is the planted function, pairs whose first
    # line names that function, pairs whose first line names another function]}
    counts = {}
    known = [p for p in pairs if p["true"]]
    verdict("planted-known", len(known) >= 0.95 * len(pairs), "in %d of %d pairs the planted function changed most; %d were recorded again" % (
        len(known), len(pairs), sum(p["again"] for p in pairs)))
    for pair in known:
        got, right = diff(pair["files"], *per(pair)), (pair["function"],) + SAME.get(pair["function"], ())
        row, (name, word) = next(f for f in got["functions"] if f["own"]["before"] + f["own"]["after"]), called(got)
        first = row["name"].split(".")[-1] in right and row["own"]["after"] > row["own"]["before"]
        named = name in right and word == "more"
        n = counts.setdefault((pair["kind"], pair["percent"]), [0, 0, 0, 0])
        for k, hit in enumerate((True, first, named, name and not named and not (name == "main" and word == "more"))):
            n[k] += bool(hit)
        if not (first and (named or not name)):
            print("  %s %s +%d %% in %s: %s; first row %s %+.3f" % (
                pair["kind"], pair["program"], pair["percent"], pair["function"], got["summary"], row["name"], row["own"]["after"] / max(row["own"]["before"], 1e-9) - 1))
    words = "; ".join("%s, %d %%: %d of %d (named in the first line: %d, another one: %d)" % (kind, percent, n[1], n[0], n[2], n[3])
                      for (kind, percent), n in sorted(counts.items()))
    large = [n for (_, percent), n in counts.items() if percent >= 10]
    small = [n for (_, percent), n in counts.items() if percent < 10]
    verdict("planted-from-10", all(n[1] == n[0] and not n[3] for n in large), words)
    verdict("planted-5", sum(n[1] for n in small) >= 0.9 * sum(n[0] for n in small) and not any(n[3] for n in small), words)


def judge_without(pairs):
    """Compares the pairs of servers without the numbers of requests: diff must call no function
    dearer or cheaper."""
    bad, grew = [], 0
    servers = [p for p in pairs if p["requests"]]
    for pair in servers:
        got = diff(pair["files"])
        grew += got.get("share_grew_most", "").split(".")[-1] in (pair["function"],) + SAME.get(pair["function"], ())
        if called(got)[0] or got["work"] != "unknown" or "--per" not in got["summary"] or any(f[w]["changed"] for f in got["functions"] for w in ("own", "total")):
            bad.append(got["summary"])
    verdict("planted-without-per", not bad, "%d of %d pairs call a function dearer or cheaper; in %d the share that grew most is the planted function's %s" % (
        len(bad), len(servers), grew, bad[:1]))


def judge_same(pairs, most=40):
    """Compares recordings of one program and kind in which no function is slower. diff must say
    that nothing changed."""
    same = []
    for kind, name in itertools.product(("batch", "server"), PROGRAMS):
        of = [p for p in pairs if (p["kind"], p["program"]) == (kind, name)]
        same += [(a, b) for a, b in itertools.combinations(of, 2)][:most // (2 * len(PROGRAMS))]
    quiet = 0
    for a, b in same:
        counts = ["--per", "requests=%d,%d" % (a["requests"][0], b["requests"][0])] if a["requests"] else []
        got = diff((a["files"][0], b["files"][0]), *counts)
        quiet += "no more than noise" in got["summary"]
        if "no more than noise" not in got["summary"]:
            print("  same: %s %s: %s" % (a["kind"], a["program"], got["summary"]))
    verdict("planted-same", quiet >= 0.95 * len(same), "no more than noise in %d of %d pairs" % (quiet, len(same)))


def two_runs(folder):
    """Records two.py with 1 and with 1.5. Returns (the two files, {function: by what share it grew,
    as the program measured}). On a busy machine the speed changes between the two recordings, so
    that parse() seems to grow as well: then both are made again. If that happens each time,
    returns None instead of the shares."""
    path, files = script(folder, "two", TWO), [os.path.join(folder, k + ".pb.gz") for k in ("1", "1.5")]
    for _ in range(TRIES):
        took = [json.loads(krait("record", "-q", "-F", "4999", "-o", f, "--", sys.executable, path, k)) for f, k in zip(files, ("1", "1.5"))]
        true = {name: took[1][name] / took[0][name] - 1 for name in took[0]}
        if abs(true["parse"]) < 0.1 and abs(true["hot"] - 0.5) < 0.1:
            return files, true
    return files, None


def small(folder):
    """Tests two.py, in which hot() does 1.5 times as much work as before, and parse() as much as
    before."""
    files, true = two_runs(folder)
    if not true:
        print("SKIP diff two: the machine's speed changed in each of %d tries" % TRIES)
        return
    got = diff(files)
    rows = {f["name"]: f["own"] for f in got["functions"]}
    told = {name: rows["two." + name]["after"] / rows["two." + name]["before"] - 1 for name in true}
    words = "%s hot %+.0f %%, in truth %+.0f; parse %+.0f %%, in truth %+.0f" % (
        got["summary"], *(100 * x[name] for name in ("hot", "parse") for x in (told, true)))
    verdict("two", called(got) == ("hot", "more") and got["work"] == "runs" and not rows["two.parse"]["changed"]
            and all(abs((1 + told[name]) / (1 + true[name]) - 1) < 0.15 for name in told), words)
    # writes the second recording again with --until, so that it doesn't count as a whole run
    krait("report", files[1], "--until", "1000s", "-o", files[1])
    got = diff(files)
    verdict("two-without-runs", called(got)[0] is None and got["work"] == "unknown" and got.get("share_grew_most", "two.hot") == "two.hot", got["summary"])


def run(o, folder):
    if o.small:
        small(folder)
        return
    os.makedirs(folder, exist_ok=True)
    if not o.judge:
        make(folder)
    with open(os.path.join(folder, "pairs.json")) as f:
        pairs = json.load(f)
    judge_planted(pairs)
    judge_without(pairs)
    judge_same(pairs)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", nargs="?", help="where the recordings are, and stay (default: nowhere)")
    p.add_argument("--small", action="store_true")
    p.add_argument("--judge", action="store_true")
    o = p.parse_args()
    if os.geteuid() and not o.judge:
        print("SKIP diff planted: not root")
    elif o.folder:
        run(o, o.folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            run(o, folder)
    sys.exit(failed)


if __name__ == "__main__":
    main()
