#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Which code a report takes for the user's own, in projects that are installed like wheels, and run
by servers, by scripts and by -m. The programs measure the CPU time that their lines take, as a
share of the CPU time of the process. If a test writes a profile itself, it knows the right
numbers."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from judge import pprof
from kit import case, check, folder, krait

SITE = "/lib/python3.12/site-packages/"

# A program that acts as a server: it imports the module that it is told to run, and takes more time
# than that module does.
SERVER = """
import importlib, sys, time
def serve(spec):
    module, _, name = spec.partition(":")
    app = getattr(importlib.import_module(module), name or "app")
    end, spent = time.thread_time() + 0.5, [0.0, 0.0]
    while time.thread_time() < end:
        a = time.thread_time()
        parse(120000)
        b = time.thread_time()
        app()
        spent[0] += b - a
        spent[1] += time.thread_time() - b
    print("%.4f" % (spent[1] / time.process_time()))
def parse(n):
    for i in range(n):
        n ^= i
"""
VIEWS = """
import json
ROWS = [{"n": i, "of": list(range(9))} for i in range(30)]
def app():
    for _ in range(60):
        json.dumps(ROWS)
"""
LINE = 6  # number of the line of VIEWS that takes most of the time
SCRIPT = """#!/usr/bin/python3
import re
import sys
from %s import %s
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\\\.pyw|\\\\.exe)?$', '', sys.argv[0])
    sys.exit(%s())
"""
PACKAGES = {
    "gunicorn/app.py": SERVER + "def run():\n    serve(sys.argv[-1])\n",
    "gunicorn/__main__.py": "from gunicorn.app import run\nrun()\n",
    "celery/__main__.py": "from gunicorn.app import serve\nimport sys\nserve(sys.argv[2] + '.views')\n",
    "flask/__main__.py": "from gunicorn.app import serve\nimport os\nserve(os.environ['FLASK_APP'])\n",
    "serverless/app.py": "from gunicorn.app import serve\ndef run():\n    serve('shop.views')\n",
    "click/core.py": "class Command:\n    def __init__(self, f):\n        self.f = f\n    def __call__(self):\n        return self.f()\n",
    "shop/views.py": VIEWS,
    "shop/__main__.py": "from shop.cli import main\nmain()\n",
    "shop/cli.py": "from click.core import Command\nfrom gunicorn.app import serve\n"
                   "@Command\ndef main():\n    serve('shop.views')\n",
}


def install(root):
    """Writes the packages and their scripts where pip would. Returns the environment in which
    Python finds them."""
    for path, text in PACKAGES.items():
        path = root + SITE + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(os.path.dirname(path) + "/__init__.py", "a").close()
        with open(path, "w") as f:
            f.write(text)
    os.makedirs(root + "/bin")
    os.makedirs(root + "/elsewhere")
    for name, module, function in (("gunicorn", "gunicorn.app", "run"), ("serverless", "serverless.app", "run"),
                                   ("shop", "shop.cli", "main")):
        with open(root + "/bin/" + name, "w") as f:
            f.write(SCRIPT % (module, function, function))
    return dict(os.environ, PYTHONPATH=root + SITE, PYTHONDONTWRITEBYTECODE="1", FLASK_APP="shop.views:app")


def summary(path, *args):
    done = krait("report", path, "--json", *args)
    check(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)["summary"]


def record(root, env, *command, options=()):
    """Records the project. Returns (the recording's file, the percentage of the time that the
    project's own code took, as the program measured it)."""
    out = root + "/p.pb.gz"
    done = krait("record", "-q", "-F", "2999", "-o", out, *options, "--", kit.PYTHON, *command, env=env, cwd=root + "/elsewhere")
    check(done.returncode == 0, done.stderr)
    return out, 100 * float(re.search(r"0\.\d{4}", done.stdout)[0])


def tells_project(said, truth):
    """Checks that the first sentence names the project's line, with its true share."""
    got = re.search(r"(\d+) % of the CPU time is at shop/views.py:(\d+) \(app\), (\d+ of these \1 %|(?:nearly )?all of it) in json.dumps", said)
    check(got and int(got[2]) == LINE, said)
    check(abs(int(got[1]) - truth) < 6, "%s, but it took %.1f %%" % (said, truth))


def origins(path, page):
    """Returns whose code each function is, as the page says: {(file, function, module): owner}.
    Owner 0 is the user."""
    header = kit.page_header(path, page)
    f, s = header["functions"], header["strings"]
    return {(s[f[i + 1]], s[f[i]], s[f[i + 4]]): f[i + 7] for i in range(0, len(f), 10)}


@case
def project_that_a_server_runs():
    """Both project and server are installed packages. The package that the command line or the
    environment tells the server to run is the user's."""
    with folder() as root:
        env = install(root)
        for command in (("../bin/gunicorn", "-k", "gevent", "shop.views:app"), ("-m", "gunicorn", "shop.views"),
                        ("-m", "celery", "-A", "shop"), ("-m", "flask", "run")):
            out, truth = record(root, env, *command)
            tells_project(summary(out), truth)
        out, truth = record(root, env, "../bin/gunicorn", "shop.views")
        own = origins(out, root + "/p.html")
        check(own["shop/views.py", "app", "shop.views"] == 0, str(own))
        check(all(own["gunicorn/app.py", f, "gunicorn.app"] for f in ("parse", "serve")), str(own))
        check(all(own[f] for f in own if f[0].endswith("bin/gunicorn")), str(own))


@case
def project_that_is_started_itself():
    """A project that is started by -m, or by a script whose main() another package calls, is the
    user's code, also if options of the report leave frames out."""
    with folder() as root:
        env = install(root)
        for command in (("-m", "shop"), ("../bin/shop",)):
            out, truth = record(root, env, *command)
            tells_project(summary(out), truth)
            # without the frames "<module>" the stacks don't show which program was started
            tells_project(summary(out, "--hide", "<module>"), truth)


# The files of two wheels. The first wheel has jobs, helpers, single and acme.tools; other wheels
# also install into its folder acme. The second wheel has stranger and acme.others.
TOGETHER = {
    "celery/__main__.py": "from gunicorn.app import serve\nimport sys\nserve(sys.argv[2] + '.views')\n",
    "jobs/__init__.py": "from jobs.views import app\ndef main():\n    from gunicorn.app import serve\n    serve('jobs.views')\n",
    "jobs/views.py": "import helpers.work, acme.tools.more, single, stranger\ndef app():\n    for at in helpers.work, acme.tools.more, single, stranger:\n"
                     "        at.crunch(30000)\n",
    "helpers/__init__.py": "",
    **{name + ".py": "def crunch(n):\n    for i in range(n):\n        n ^= i\n" for name in (
        "helpers/work", "acme/tools/more", "single", "stranger", "acme/others")},
}
WHEEL = [name for name in TOGETHER if not name.startswith(("celery", "stranger", "acme/others"))]


def install_together(root, script, **texts):
    """Installs the packages of TOGETHER. @texts are further files, which say which files one wheel
    has installed."""
    env = install(root)
    for path, text in {**TOGETHER, **texts}.items():
        os.makedirs(os.path.dirname(root + SITE + path), exist_ok=True)
        with open(root + SITE + path, "w") as f:
            f.write(text)
    with open(root + "/bin/" + script, "w") as f:
        f.write(SCRIPT % ("jobs", "main", "main"))
    return env


def record_of(*files):
    return "".join("%s,sha256=x,9\n" % name for name in files)


@case
def packages_of_one_wheel():
    """If a worker is told to run a package, other packages from the same wheel are the user's too,
    whatever the wheel's name is."""
    with folder() as root:
        for n, (command, texts, others) in enumerate((
                (("-m", "celery", "-A", "jobs"), {"backend-2.dist-info/RECORD": record_of(*WHEEL, "backend-2.dist-info/RECORD", "../../bin/worker"),
                                                  "stranger-1.dist-info/RECORD": record_of("stranger.py", "acme/others.py")}, ()),
                (("-m", "celery", "-A", "jobs"), {"backend.egg-info/top_level.txt": "helpers\njobs\nsingle\n"}, ("acme/tools/more.py",)),
                (("../bin/worker",), {"backend-2.dist-info/RECORD": record_of(*WHEEL)}, ()),
                (("-m", "jobs"), {"backend-2.dist-info/RECORD": record_of(*WHEEL), "jobs/__main__.py": "from jobs import main\nmain()\n"}, ()),
                (("-m", "celery", "-A", "jobs"), {"backend-2.dist-info/RECORD": record_of("helpers/work.py")}, None))):
            at = "%s/%d" % (root, n)
            out, _ = record(at, install_together(at, "worker", **texts), *command)
            own = {file for (file, f, _), origin in origins(out, root + "/p.html").items() if f == "crunch" and origin == 0}
            want = {"helpers/work.py", "acme/tools/more.py", "single.py"} - set(others) if others is not None else set()
            check(own == want, "%s: %s" % (command, own))
            again = root + "/again.jsonl"
            check(krait("report", out, "--hide", "<module>", "-o", again).returncode == 0, "report")
            comments = json.loads(open(again).readline())["comments"]
            check(len(comments) == len(set(comments)), str(comments))
            came = {"entry: " + name for name in ("helpers", "single", "acme", "acme.tools", "acme.tools.more")}
            check("entry: jobs" in comments and not came & set(comments), str(comments))


@case
def project_of_manage_py():
    """manage.py itself sets the environment variable that names its settings: the package of these
    settings is the user's."""
    with folder() as root:
        env = install(root)
        del env["FLASK_APP"]
        with open(root + "/elsewhere/manage.py", "w") as f:
            f.write("import os\nfrom gunicorn.app import serve\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n"
                    "serve('shop.views')\n")
        for command in ("manage.py", "run"), ("-B", root + "/elsewhere/manage.py"):
            out, truth = record(root, env, *command)
            tells_project(summary(out), truth)


@case
def packages_of_ones_word():
    """--mine of record, report and diff makes a package count as the user's, although neither the
    command line nor the environment names it."""
    with folder() as root:
        env = install(root)
        out, truth = record(root, env, "../bin/serverless")
        check("views.py" not in summary(out).split(", called")[0], summary(out))
        tells_project(summary(out, "--mine", "shop"), truth)
        tells_project(summary(out, "--mine", "nothing.else", "--mine", "shop.views"), truth)
        done = krait("report", out, "--mine", "nosuch")
        check("--mine nosuch: no code of such a package" in done.stderr, done.stderr)
        check("--mine shop" not in krait("report", out, "--mine", "shop").stderr, "a warning of what is there")
        kit.refused(2, "'a b' is not a package", "report", out, "--mine", "a b")
        out, truth = record(root, env, "../bin/serverless", options=("--mine", "shop"))
        tells_project(summary(out), truth)
        check(krait("diff", out, out, "--mine", "shop").returncode == 0, "diff")
        check("--mine nosuch" in krait("diff", out, out, "--mine", "nosuch").stderr, "diff doesn't warn")


def made(path, *stacks, **labels):
    """Makes a profile of the stacks (count, (function, file, line), ...), root first."""
    w = pprof.Writer()
    for count, *frames in stacks:
        w.sample([w.location("[python 3.12]", name, file, 1, line, 1) for name, file, line in frames],
                 dict({"cwd": "/srv/app"}, **labels), count)
    w.save(path)
    return path


@case
def what_stacks_tell():
    """The package that a script or runpy starts counts as the user's code, unless it is a tool that
    runs other programs, such as pytest or celery."""
    lib = "/v" + SITE
    run = ("_run_code", "<frozen runpy>", 88)
    with folder() as d:
        def said(*stack):
            return summary(made(d + "/p.pb.gz", (5, *stack)))
        def module(package, line=3):
            return ("<module>", lib + package + "/__main__.py", line)
        def work(package):
            return ("work", lib + package + "/core.py", 7)
        check(said(run, module("tool"), work("tool")).startswith("100 % of the CPU time is at tool/core.py:7 (work)"), said(run, module("tool"), work("tool")))
        inner = ("inner", lib + "pytest/core.py", 9)
        check(said(run, module("pytest"), work("pytest"), inner) == "100 % of the CPU time is in pytest.core.inner", "its own file calls it")
        check(said(run, module("pytest"), work("pytest")) == "100 % of the CPU time is in pytest.core.work, called from pytest/__main__.py:3",
              "a test runner is the user's")
        check(said(run, module("tool"), work("other")) == "100 % of the CPU time is at tool/__main__.py:3 (<module>), all of it in other.core.work",
              said(run, module("tool"), work("other")))
        script = ("<module>", "/v/bin/tool", 8)
        check("at tool/core.py:7" in said(script, work("tool")), said(script, work("tool")))
        check("at tool/core.py:7" in said(script, work("click"), work("click"), work("tool")), "behind click")
        check("in celery.core.work" in said(script, work("celery")), "a worker's server is the user's")
        check("in json.dumps, called from /v/bin/tool:8" in said(script, ("dumps", "/v/lib/python3.12/json/__init__.py", 9)), "a script is the user's")


@case
def code_without_a_file():
    """Code that a dataclass generates counts for its caller. The text of `python -c` is the user's,
    except the text with which multiprocessing starts its workers."""
    with folder() as d:
        make = ("make", "/srv/app/app.py", 4)
        got = summary(made(d + "/p.pb.gz", (6, make, ("__init__", "<string>", 2)), (1, make), process="app.py"))
        check(got == "100 % of the CPU time is at app.py:4 (make), 86 of these 100 % in <string>.__init__", got)
        got = summary(made(d + "/p.pb.gz", (6, ("<module>", "<string>", 1), ("hot", "<string>", 2)), process="python3 -c"))
        check(got == "100 % of the CPU time is at <string>:2 (hot)", got)
        got = summary(made(d + "/p.pb.gz", (6, ("<module>", "<string>", 1), ("main", "/v/lib/python3.12/multiprocessing/forkserver.py", 9),
                                                ("loads", "/v/lib/python3.12/json/__init__.py", 9)), process="multiprocessing.forkserver"))
        check(got == "100 % of the CPU time is in json.loads, called from multiprocessing/forkserver.py:9", got)


@case
def code_without_a_name():
    """The time of a generator expression or a lambda counts for the function in whose text it
    stands, at that function's line."""
    library = ("apply", "/v" + SITE + "frames/core.py", 3)
    with folder() as d:
        def said(name, start, *others, between=()):
            w = pprof.Writer()
            def at(frames):
                return [w.location("[python 3.12]", f, file, begins, line, 1) for f, file, line, begins in frames]
            outer = [("main", "/srv/app/app.py", 20, 18), ("M.total", "/srv/app/app.py", 9, 8)]
            w.sample(at([*outer, *between, (name, "/srv/app/app.py", start, start)]), {"cwd": "/srv/app"}, 6)
            w.sample(at(outer), {"cwd": "/srv/app"}, 4)
            w.save(d + "/p.pb.gz")
            return summary(d + "/p.pb.gz")
        want = "100 % of the CPU time is at app.py:9 (M.total)"
        for name, start, between in (("M.total.<locals>.<genexpr>", 10, ()), ("<listcomp>", 9, ()),
                                     ("M.total.<locals>.<lambda>", 9, [(*library, 1)])):
            got = said(name, start, between=between)
            check(got == want, "%s: %s" % (name, got))
        for name, start in (("other.<locals>.<lambda>", 9), ("<lambda>", 3), ("M.total.<locals>.inner", 9)):
            got = said(name, start)
            check(got.startswith("60 %% of the CPU time is at app.py:%d" % start), "%s: %s" % (name, got))


@case
def many_small_functions():
    """If none of the user's functions takes a tenth of the time, the first sentence names the
    function that calls them all."""
    main, step, run = ("main", "/srv/app/app.py", 20), ("step", "/srv/app/app.py", 9), ("serve", "/v" + SITE + "web/core.py", 3)
    small = [("f%d" % i, "/srv/app/app.py", 30 + i) for i in range(10)]
    with folder() as d:
        for outer in (run,), (main, run):
            got = summary(made(d + "/p.pb.gz", *[(8, *outer, step, f) for f in small], (20, *outer)))
            check(got == "80 % of the CPU time is at app.py:9 (step) and your functions that it calls, each with less than a tenth", got)
        got = summary(made(d + "/p.pb.gz", *[(8, main, run, f) for f in small], (20, main, run)))
        check("(main)" not in got or "without your functions" in got or "which it calls" in got, got)
        got = summary(made(d + "/p.pb.gz", *[(8, run, f) for f in small], (20, run)))
        check(got == "None of your functions takes a tenth of the CPU time; 20 % is in web.core.serve", got)


@case
def what_runs_beside():
    """The first sentence says how much of the time went to code that none of the user's functions
    called. If one function has much of this time, the sentence names it."""
    work, parse = ("work", "/srv/app/app.py", 5), ("parse", "/v" + SITE + "web/core.py", 7)
    others = [(5, ("f%d" % i, "/v" + SITE + "web/more.py", 10 * i + 1)) for i in range(5)]
    with folder() as d:
        got = summary(made(d + "/p.pb.gz", (30, work), (45, parse), *others))
        check(got == "30 % of the CPU time is at app.py:5 (work); 70 % is in code that none of your functions called, 45 of these 70 % in web.core.parse", got)
        got = summary(made(d + "/p.pb.gz", (20, work), *others))
        check(got == "44 % of the CPU time is at app.py:5 (work); 56 % is in code that none of your functions called", got)


@case
def collector_of_a_library():
    """If a line of a library starts the garbage collector, the first sentence still names the
    user's function. If the user's code starts it, the sentence names the collector."""
    main, work = ("main", "/srv/app/app.py", 20), ("work", "/srv/app/app.py", 5)
    loop = ("loop", "/v" + SITE + "worker/core.py", 7)
    with folder() as d:
        def said(*collects):
            w = pprof.Writer()
            def at(frames):
                return [w.location("[python 3.12]", name, file, 1, line, 1) for name, file, line in frames]
            gc = w.location("[gc]", "garbage collector", "", 0, 0, 0)
            w.sample(at([main, work]), {"cwd": "/srv/app"}, 30)
            w.sample(at([loop]), {"cwd": "/srv/app"}, 30)
            w.sample(at(collects) + [gc], {"cwd": "/srv/app"}, 40)
            w.save(d + "/p.pb.gz")
            return summary(d + "/p.pb.gz")
        got = said(loop)
        check(got == "30 % of the CPU time is at app.py:5 (work); 40 % is in the garbage collector, called from worker/core.py:7", got)
        got = said(main)
        check(got == "40 % of the CPU time is in the garbage collector, called from app.py:20", got)


# A package and the program each have a dataclass with the same fields. The __module__ of each names
# the module in sys.modules that has the class.
RECORDS = """
import dataclasses
@dataclasses.dataclass
class Record:
    a: int
    b: int = 1
    c: int = 2
def build(n):
    for i in range(n):
        Record(i)
"""
BUILDS = RECORDS + """
import time, records
end = time.thread_time() + 0.6
while time.thread_time() < end:
    build(20000)
    records.build(20000)
"""


@case
def code_that_is_made():
    """The generated methods of a dataclass count for the module that has the class. The module's
    file is kept when the recording is written as JSON lines, as pprof again, and as JSON lines
    once more."""
    with folder() as root:
        env = install(root)
        for path, text in ((SITE + "records.py", RECORDS), ("/elsewhere/app.py", BUILDS)):
            with open(root + path, "w") as f:
                f.write(text)
        out = root + "/p.pb.gz"
        done = krait("record", "-q", "-F", "2999", "-o", out, "--", kit.PYTHON, "app.py", env=env, cwd=root + "/elsewhere")
        check(done.returncode == 0, done.stderr)
        names = [f["name"] for f in json.loads(krait("report", out, "--json").stdout)["functions"]]
        made_ = {n.split(".")[0] for n in names if n.endswith("__init__") and "." in n} & {"app", "records", "<string>"}
        check(made_ == {"app", "records"}, str(names[:8]))
        found = {module: origin for (file, _, module), origin in origins(out, root + "/p.html").items() if file == "<string>"}
        check(found["app"] == 0 and found["records"] != 0, str(found))
        for name in "p.jsonl", "again.pb.gz", "again.jsonl":
            check(krait("report", out, "-o", root + "/" + name).returncode == 0, name)
            out = root + "/" + name
        frames = [[json.loads(line) for line in open(root + name) if '"frame"' in line] for name in ("/p.jsonl", "/again.jsonl")]
        made_ = [sorted((f.get("name", ""), f.get("made_in", ""), f.get("line", 0)) for f in of) for of in frames]
        check(made_[0] == made_[1] and any(root + SITE + "records.py" == m for _, m, _ in made_[0]), "lost on the way: %s" % made_[0])


@case
def compileall():
    """No code of `python -m compileall` counts as the user's, though its workers are started with
    -c and a text (since 3.14 by default)."""
    newest = max((version, path) for _, version, kind, path in kit.interpreters() if kind in ("static", "shared"))[1]
    with folder() as d:
        os.mkdir(d + "/code")
        for i in range(120):
            with open(d + "/code/m%d.py" % i, "w") as f:
                f.write("def f(a, b=1):\n    return [a + i * b for i in range(9)]\n\n" * 150)
        done = krait("record", "-q", "-o", d + "/p.pb.gz", "--", newest, "-m", "compileall", "-q", "-f", "-j2", d + "/code")
        check(done.returncode == 0, done.stderr)
        # The closing lines may begin with a sentence about how much the processes waited.
        said = summary(d + "/p.pb.gz").split(". ")[-1]
        check("your" not in said and " in " in said and "forkserver" not in said and "<string>" not in said, said)


@kit.full_case
def django_under_gunicorn():
    """With the real Django and gunicorn, and a project among the installed packages, the report
    names the project's view and the library code that the view calls."""
    with folder() as root:
        site, python = root + SITE, kit.with_packages(*kit.WEB)
        os.makedirs(site + "shop")
        for name, text in DJANGO.items():
            with open(site + "shop/" + name, "w") as f:
                f.write(text)
        os.mkdir(root + "/elsewhere")
        env = dict(os.environ, PYTHONPATH=site)
        command = [python, "-m", "gunicorn", "-b", "127.0.0.1:8765", "--threads", "2", "shop.wsgi"]
        with kit.Background(*command, env=env, cwd=root + "/elsewhere") as server, \
                kit.Background(sys.executable, "-c", ASKS):
            kit.wait_for(lambda: kit.cpu_seconds(kit.child_of(server.pid)) > 1, 30)
            done = krait("record", "-q", "-d", 3, "-p", server.pid, "-o", root + "/p.pb.gz")
            check(done.returncode == 0, done.stderr)
        said = summary(root + "/p.pb.gz")
        check(re.search(r"\d+ % of the CPU time is at shop/views.py:4 \(page\), (\d+ of these \d+ %|(nearly )?all of it) in django.*render", said), said)


DJANGO = {
    "__init__.py": "",
    "settings.py": "SECRET_KEY = 'x'\nALLOWED_HOSTS = ['*']\nROOT_URLCONF = 'shop.urls'\n"
                   "TEMPLATES = [{'BACKEND': 'django.template.backends.django.DjangoTemplates'}]\n",
    "urls.py": "from django.urls import path\nfrom shop import views\nurlpatterns = [path('', views.page)]\n",
    "views.py": "from django.http import HttpResponse\nfrom django.template import engines\ndef page(request):\n"
                "    return HttpResponse(engines['django'].from_string('{% for i in r %}{{ i|add:1 }}{% endfor %}').render({'r': range(900)}))\n",
    "wsgi.py": "import os\nos.environ['DJANGO_SETTINGS_MODULE'] = 'shop.settings'\n"
               "from django.core.wsgi import get_wsgi_application\napplication = get_wsgi_application()\n",
}
ASKS = """
import time, urllib.request
while True:
    try:
        urllib.request.urlopen("http://127.0.0.1:8765/").read()
    except OSError:
        time.sleep(0.1)
"""

if __name__ == "__main__":
    sys.exit(kit.main())
