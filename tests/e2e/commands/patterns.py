# SPDX-License-Identifier: BSD-2-Clause
"""Patterns and times in filter options: every command warns if a pattern matches nothing, and shows
similar names."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import KRAIT, PYTHON, case, check, folder, krait, main, pprof, python, refused  # noqa: E402
from vt import Terminal  # noqa: E402

# Folded stacks of 100 samples: one stack has 70, the other 30.
FOLDED = """run (/srv/app.py:3);index (/srv/views.py:10);loads (/usr/lib/python3.12/json/__init__.py:299);\
decode (/usr/lib/python3.12/json/decoder.py:337) 70
run (/srv/app.py:3);index (/srv/models.py:10) 30
"""
NOTHING = "matches nothing"
SPIN = """
def index(n):
    s = 0
    for i in range(n):
        s += i & 3
    return s
"""
MAIN = """
import time
from store.views import index
end = time.thread_time() + 0.6
while time.thread_time() < end:
    index(20000)
"""


def profile(d, name="a.folded", text=FOLDED):
    path = os.path.join(d, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def labelled(d):
    """Makes a profile of two threads of one process, whose samples have a label."""
    path, w = os.path.join(d, "labels.pb.gz"), pprof.Writer()
    frame = w.location("[python 3.12]", "work", "/srv/app.py", 1, 2, 0)
    for tid, thread in (7, "worker"), (8, "reader"):
        w.sample([frame], {"pid": 7, "process": "service", "tid": tid, "thread": thread, "version": "one"}, 50)
    w.save(path)
    return path


def warned(done):
    return [line.split("warning: ")[1] for line in done.stderr.splitlines() if NOTHING in line]


@case
def nothing_matches():
    """Each option that takes a pattern warns if the pattern matches nothing, and doesn't warn if it
    matches."""
    with folder() as d:
        one, two = profile(d), labelled(d)
        for path, right, wrong, near in (
                (one, ["--hide", "json.loads"], ["--hide", "json.lods"], "near it: json.loads"),
                (one, ["--show", "views"], ["--show", "viws"], "near it: views"),
                (one, ["--focus", "index"], ["--focus", "indxe"], "near it: views.index, models.index"),
                (one, ["--ignore", "/js.n/"], ["--ignore", "/jsx.n/"], ""),
                (one, ["--module", "json"], ["--module", "Json"], "near it: json, json.decoder"),
                (one, ["--kind", "python"], ["--kind", "kernel"], "there is, for example, python"),
                (two, ["--process", "serv*"], ["--process", "serivce"], "near it: service (pid 7)"),
                (two, ["--thread", "8"], ["--thread", "9"], "there is, for example, worker (tid 7), reader (tid 8)"),
                (two, ["--label", "version=one"], ["--label", "version=two"], "there is, for example, version=one")):
            for command in ["report", path], ["diff", path, path]:
                done = krait(*command, *right)
                check(not warned(done), "%s: %s" % (right, done.stderr))
                said = warned(krait(*command, *wrong))
                check(len(said) == 1 and said[0].startswith(" ".join(wrong) + " " + NOTHING) and said[0].endswith(near),
                      "%s %s: %s" % (command[0], wrong, said))
        # It is enough if a pattern matches in one of the two profiles.
        other = profile(d, "b.folded", FOLDED.replace("models", "tables"))
        check(not warned(krait("diff", one, other, "--hide", "tables")), "a pattern that matches on one side is warned of")
        check(len(warned(krait("diff", one, other, "--hide", "nosuch"))) == 1, "a pattern that matches on no side isn't warned of once")
        text = krait("report", one, "--show", "nosuch").stdout
        check("the samples have no frames" not in text and "filters leave no frames" in text, text)


@case
def packages():
    """A pattern that is the name of a package matches all functions in the package."""
    with folder() as d:
        path = profile(d)
        text = krait("report", path, "--show", "json", "--format", "folded").stdout
        counts = {line.split(" ")[-1]: line for line in text.splitlines()}
        check("decode" in counts["70"] and "loads" in counts["70"] and "index" not in text, text)
        text = krait("report", path, "--ignore", "json", "--format", "folded").stdout
        check([line.split()[-1] for line in text.splitlines()] == ["30"], text)
        text = krait("report", path, "--hide", "json", "--format", "folded").stdout
        check("decode" not in text and "loads" not in text and "index" in text, text)


@case
def recordings():
    """record and top warn if a pattern matches nothing in what they recorded. If the pattern is the
    name of a recorded package, they don't warn."""
    with folder() as d:
        os.mkdir(os.path.join(d, "store"))
        for name, text in ("store/__init__.py", ""), ("store/views.py", SPIN), ("main.py", MAIN):
            profile(d, name, text)
        main_py, out = os.path.join(d, "main.py"), os.path.join(d, "x.folded")
        done = krait("record", "-o", out, "--show", "store", "--hide", "stroe", "--", PYTHON, main_py)
        check([w for w in warned(done)] == ["--hide stroe matches nothing; near it: store"], done.stderr)
        with open(out) as f:
            total = sum(int(line.rsplit(" ", 1)[1]) for line in f if "index" in line.split(";")[-1])
        check(total > 300, "index in the package: %d samples" % total)
        done = krait("top", "-n", 1, "--focus", "indx", "--", PYTHON, main_py)
        check(warned(done) == ["--focus indx matches nothing; near it: store.views.index"], done.stderr)


@case
def times():
    """In --since, 0 is the start of the recording. If krait refuses an option, the error names the
    option as it was typed, and the command."""
    with folder() as d:
        path = profile(d)
        for command in ["report", path], ["diff", path, path]:
            check(krait(*command, "--since", "0s").stdout == krait(*command).stdout != "", command[0])
        for words, args in (("--until: nothing is before the start", ("report", path, "--until", "0")),
                            ("--interval is too short", ("top", "-i", "0")),
                            ("--pid is for --store; with a file use --process", ("report", path, "--pid", "1")),
                            ("krait report has no option --comm; record, top, dump have it", ("report", path, "--comm", "x")),
                            ("krait report has no option -d; record (--duration), top (--duration) have it", ("report", path, "-d5")),
                            ("krait dump has no option --tree; report, last have it", ("dump", "--tree")),
                            ("krait top has no option --label-intervals; record has it", ("top", "--label-intervals", path)),
                            ("did you mean --tree?", ("report", path, "--treee"))):
            refused(2, words, *args)


@case
def targets():
    """If no process has the name in --comm or a similar option, the error names the option. It
    doesn't say that no Python runs."""
    with python():
        for option in "--comm", "--cgroup", "--container":
            done = krait("dump", option, "no-such-name")
            check(done.returncode == 1 and "no Python process that %s matches" % option in done.stderr, done.stderr)


@case
def on_the_screen():
    """While top runs, its screen shows a warning if a pattern matches nothing."""
    with python() as target, Terminal([KRAIT, "top", "-p", str(target.pid), "-i", "200ms", "--hide", "busyy"], cols=100) as t:
        t.wait("--hide busyy matches nothing; near it: ", 20)
        t.end()


if __name__ == "__main__":
    sys.exit(main())
