#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""schemas.py: krait's own JSON is valid by the schemas in docs/schema, as the distribution's
jsonschema package judges. The schemas refuse other JSON."""
import copy
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(ROOT, "tests", "oracle"), os.path.join(ROOT, "tests", "e2e")]
import kit  # noqa: E402
from judge import pprof  # noqa: E402

try:
    import jsonschema
    Validator = jsonschema.Draft202012Validator
except (ImportError, AttributeError) as err:
    print("SKIP schemas: %s" % err)
    sys.exit(0)

KRAIT = os.path.join(ROOT, os.environ.get("KRAIT", "build/release/krait"))
failed = False


def check(name, true, words=""):
    global failed
    print("PASS schema %s" % name if true else "FAIL schema %s: %s" % (name, words))
    failed |= not true


def load(name):
    with open(os.path.join(ROOT, "docs", "schema", name + ".schema.json"), encoding="ascii") as f:
        schema = json.load(f)
    Validator.check_schema(schema)
    return Validator(schema)


def krait(*args):
    return subprocess.run([KRAIT, *args], capture_output=True, text=True, timeout=60, check=True).stdout


def paths(value, at=()):
    """Yields the path of every member and item of a JSON document."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield at + (key,)
        yield from paths(inner, at + (key,))


def changed(document, path, change):
    document = copy.deepcopy(document)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    change(inner, path[-1])
    return document


def takes(validator, name, document):
    problem = next(validator.iter_errors(document), None)
    check(name, problem is None, problem and "%s: %s" % (list(problem.absolute_path), problem.message[:200]))


def to_object(holder, key):
    holder[key] = {"no": ["such"]}


def refuses(validator, name, document):
    """Checks that the schema refuses the document with an unknown member, or with a value of
    another type at any place."""
    seen, bad = set(), []
    for path in paths(document):
        kind = tuple("*" if isinstance(key, int) else key for key in path)
        if kind in seen:
            continue
        seen.add(kind)
        if validator.is_valid(changed(document, path, to_object)):
            bad.append("another type at %s" % (path,))
    if validator.is_valid({**document, "no_such": 1}):
        bad.append("a member that isn't known")
    check(name + "-refuses", seen and not bad, str(bad))


def misses(validator, name, document, *members):
    """Checks that the document isn't valid if one of these members is missing, whichever it is."""
    bad = [path for path in members if validator.is_valid(changed(document, path, lambda holder, key: holder.pop(key)))]
    check(name + "-misses", not bad, str(bad))


def made(path):
    """Makes a recording with everything that krait's JSON may show: threads, the GIL, the end of an
    expression, native code without a name."""
    w = pprof.Writer()
    main = w.location("[python 3.12]", "<module>", "/srv/app/app.py", 1, 9, 1)
    work = w.location("[python 3.12]", "Worker.run", "/srv/app/lib/work.py", 3, 5, 1)
    deep = w.location("", "deflate", "", 0, 0, 0)
    for i, gil in enumerate(("held", "released", "waiting")):
        w.sample([main, work, deep][:i + 1], {"pid": "7", "process": "app.py", "tid": str(7 + i), "thread": "t%d" % i, "gil": gil}, i + 1)
    w.sample([], {}, 1)
    w.save(path)


def made_waits(path):
    """Makes a recording in which t7 waits for the GIL that t8 holds, and then for work; t9 waits
    for a lock, and t8 ends a part of that wait."""
    times = ("cpu", "off_cpu", "gil_wait", "gil_blame", "lock_blame")
    w = pprof.Writer((("samples", "count"),) + tuple((name, "nanoseconds") for name in times), duration=10 ** 10)
    work = w.location("[python 3.12]", "work", "/srv/app/app.py", 3, 5, 1)
    for tid, state, more, values in ((7, "gil", {}, (0, 0, 10 ** 9, 10 ** 9, 0, 0)), (8, "running", {}, (1, 10 ** 6, 0, 0, 10 ** 6, 0)),
                                     (7, "lock", {"idle": "yes"}, (0, 0, 10 ** 9, 0, 0, 0)), (9, "lock", {}, (0, 0, 10 ** 9, 0, 0, 0)),
                                     (8, "running", {"waiter": "t9", "waiter_tid": "9"}, (0, 0, 0, 0, 0, 10 ** 8))):
        w.sample([work], {"pid": "7", "process": "app.py", "tid": str(tid), "thread": "t%d" % tid, "state": state, "time": 10 ** 8, **more},
                 values=values)
    w.save(path)


def lines(work, paths_in):
    validator, kinds = load("jsonl"), {}
    for source in paths_in:
        out = os.path.join(work, "x.jsonl")
        krait("report", source, "-o", out)
        with open(out, encoding="utf-8") as f:
            documents = [json.loads(line) for line in f]
        problem = next((d for d in documents if not validator.is_valid(d)), None)
        check("jsonl-%s" % os.path.basename(source).split(".")[0], problem is None and len(documents) > 5, str(problem))
        for d in documents:
            if len(d) >= len(kinds.get(d["type"], ())):
                kinds[d["type"]] = d
    check("jsonl-types", sorted(kinds) == ["frame", "krait", "labels", "mapping", "sample", "stack"], str(sorted(kinds)))
    for kind, document in kinds.items():
        refuses(validator, "jsonl-" + kind, document)
        misses(validator, "jsonl-" + kind, document, *[(m,) for m in {
            "krait": ("version", "sample_types"), "mapping": ("id",), "frame": ("id", "mapping"), "stack": ("id", "frames"),
            "labels": ("id", "labels"), "sample": ("values",)}[kind] + ("type",)])


def reports(paths_in):
    validator = load("report")
    for source in paths_in:
        for args in ([], ["--by", "thread"]):
            if args and "go-cpu" in source:
                continue
            name = "report-" + "-".join([os.path.basename(source).split(".")[0], *args[1:]])
            takes(validator, name, json.loads(krait("report", source, "--json", *args)))
    document = json.loads(krait("report", paths_in[0], "--json", "--by", "thread"))
    refuses(validator, "report", document)
    misses(validator, "report", document, *[(m,) for m in ("file", "summary", "value", "unit", "shown", "all", "notes", "kinds", "functions", "lines", "shares")],
           ("functions", 0, "own"), ("lines", 0, "line"), ("threads", 0, "total"))
    with tempfile.TemporaryDirectory() as work:
        made_waits(os.path.join(work, "waits.pb.gz"))
        document = json.loads(krait("report", os.path.join(work, "waits.pb.gz"), "--json", "--value", "off_cpu"))
    takes(validator, "report-waits", document)
    check("report-waits-there", len(document["gil_waits"]) == 2 and len(document["states"]) == 3, str(document.get("gil_waits")))
    check("report-lock-waits-there", [w["nanoseconds"] for w in document["lock_waits"]] == [10 ** 8, 9 * 10 ** 8], str(document.get("lock_waits")))
    refuses(validator, "report-waits", document)
    misses(validator, "report-lock-waits", document, *[("lock_waits", 1, m) for m in document["lock_waits"][1]])
    misses(validator, "report-waits", document, *[("gil_waits", 0, m) for m in document["gil_waits"][0]], ("states", 0, "idle"))


def dumps():
    validator = load("dump")
    with kit.python("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n" + kit.BUSY) as target:
        done = subprocess.run([KRAIT, "dump", "--json", "-p", str(target.pid)], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        print("SKIP schema dump: %s" % done.stderr.strip()[:200])
        return
    document = json.loads(done.stdout)
    takes(validator, "dump", document)
    # The next checks change frames of the dump, so it must have a thread with frames.
    check("dump-frames", any(t["frames"] for p in document["processes"] for t in p["threads"]))
    refuses(validator, "dump", document)
    process, thread = ("processes", 0), ("processes", 0, "threads", 0)
    misses(validator, "dump", document, ("schema",), ("krait",), ("processes",), *[process + (m,) for m in document["processes"][0]],
           *[thread + (m,) for m in document["processes"][0]["threads"][0]])


def comparisons(work, path):
    validator = load("diff")
    other = os.path.join(work, "other.pb.gz")
    made(other)
    for args in ([], ["--by", "thread"], ["--value", "samples"]):
        document = json.loads(krait("diff", path, other, "--json", *args))
        takes(validator, "-".join(["diff", *args[1:]]), document)
        refuses(validator, "-".join(["diff", *args[1:]]), document)
        rows = "groups" if "--by" in args else "functions"
        misses(validator, "-".join(["diff", *args[1:]]), document, *[(m,) for m in document], (rows, 0, "own"), (rows, 0, "total", "share_after"))


def tops():
    validator = load("top")
    with kit.python() as target:
        for table in ("--functions",), ("--lines",), ("--modules",), ("--threads",), ("--processes",), ("--by", "thread"):
            done = subprocess.run([KRAIT, "top", "--json", "--times", "2", "-i", "0.5", *table, "-p", str(target.pid)],
                                  capture_output=True, text=True, timeout=60, check=False)
            if done.returncode:
                print("SKIP schema top %s: %s" % (table[0], done.stderr.strip()[:200]))
                continue
            documents = [json.loads(line) for line in done.stdout.splitlines()]
            for document in documents:
                takes(validator, "top" + table[0], document)
            check("top%s-rows" % table[0], bool(documents and documents[-1]["rows"]))
            refuses(validator, "top" + table[0], documents[-1])
            misses(validator, "top" + table[0], documents[-1], *[(m,) for m in documents[-1]], ("rows", 0, "self"), ("last", "value"))


def summary(path):
    validator = load("summary")
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    takes(validator, "summary", document)
    refuses(validator, "summary", document)
    misses(validator, "summary", document, *[(m,) for m in document], ("outcomes", "OK"), ("native_outcomes", "WHOLE"))


def agent_status(work):
    validator, store = load("agent-status"), os.path.join(work, "store")
    with subprocess.Popen([KRAIT, "agent", "run", "--store", store], stderr=subprocess.PIPE, text=True) as agent:
        if "recording into" not in agent.stderr.readline():
            print("SKIP schema agent-status: no agent can record here")
            return
        empty = json.loads(krait("agent", "status", "--json", "--store", store))
        with kit.python() as _:
            time.sleep(2.2)  # each second the agent writes its new samples to the store
        document = json.loads(krait("agent", "status", "--json", "--store", store))
        agent.terminate()
    takes(validator, "agent-status-empty", empty)
    takes(validator, "agent-status", document)
    refuses(validator, "agent-status", document)
    misses(validator, "agent-status", document, *[(m,) for m in document], ("agent", "pid"),
           *[("keeps", m) for m in document["keeps"]], *[("costs", m) for m in document["costs"]], ("lost", "disk"), ("rate", "hz"))
    check("agent-status-there", document["agent"]["pid"] == agent.pid and document["keeps"]["samples"] > 10
          and document["keeps"]["limit_bytes"] == 1 << 30, str(document))


def main():
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "made.pb.gz")
        made(path)
        both = [path, os.path.join(ROOT, "tests", "golden", "go-cpu.pb.gz")]
        real = os.path.join(work, "real.pb.gz")
        done = subprocess.run([KRAIT, "record", "-q", "--times", "-o", real, "--summary-json", real + ".json", "--", kit.PYTHON, "-c", "sum(i * i for i in range(10**7))"],
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            print("SKIP schema of a real recording: %s" % done.stderr.strip()[:200])
        else:
            both.append(real)
            summary(real + ".json")
        lines(work, both)
        reports(both)
        comparisons(work, path)
        dumps()
        tops()
        agent_status(work)
    sys.exit(failed)


main()
