#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What docs/ci.md describes works: the action in packaging/action, and the recipes in the document.
The test runs the action's steps as GitHub does, and the recipes exactly as they stand there."""
import contextlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import threading
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import ROOT, case, check, folder

ACTION = os.path.join(ROOT, "packaging", "action")
SCRIPT = os.path.join(ACTION, "benchmark.sh")
BENCHMARK = """
import sys
def parse(n):
    total = 0
    for i in range(n):
        total += len(str(i))
def hot(n):
    total = 0
    for i in range(n):
        total += i & 3
def join(n):
    text = ""
    for i in range(n):
        text = text[-9:] + chr(97 + (i & 15))
for _ in range(60):
    parse(6000)
    join(6000)
    hot(int(20000 * %s))
"""


def run(*command, code=0, **kw):
    """Runs a command, checks that its exit code is @code, and returns its standard output."""
    kw["env"] = {**os.environ, "KRAIT": kit.KRAIT, **kw.get("env", {})}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", timeout=120, check=False, **kw)
    check(done.returncode == code, "exit code %d, not %d: %s%s" % (done.returncode, code, done.stdout[-500:], done.stderr[-500:]))
    return done.stdout


def text_of(path):
    with open(path) as f:
        return f.read()


def write(path, text, mode=0o644):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def record(d, out, times):
    """Records two runs in which hot() does its work @times times."""
    write(d + "/bench.py", BENCHMARK % times)
    run(SCRIPT, "record", "-n", "2", "-o", out, "--", kit.PYTHON, "bench.py", cwd=d)


@case
def compares():
    """hot() now does twice the work, which exceeds the limit for hot(): the comparison fails, and
    its message names hot(). The limit for parse() isn't exceeded. Without limits nothing fails."""
    with folder() as d:
        record(d, "old.pb.gz", 1)
        record(d, "new.pb.gz", 2)
        run(SCRIPT, "compare", "old.pb.gz", "new.pb.gz", "-m", "a.md", "-p", "a.html", "own:bench.parse>+30%", "own:bench.hot>+30%", code=4, cwd=d)
        said = text_of(d + "/a.md")
        check("Per run (2 before, 2 after; each ran to its end), bench.hot takes" in said and "% more CPU time" in said, said)
        check("<html" in text_of(d + "/a.html"), "no page")
        for limits in ("own:bench.parse>+100%",), ():
            run(SCRIPT, "compare", "old.pb.gz", "new.pb.gz", *limits, cwd=d)
        run(SCRIPT, "compare", "new.pb.gz", "new.pb.gz", "own:*>+0%", cwd=d)


@case
def without_baseline():
    with folder() as d:
        run(SCRIPT, "compare", "old.pb.gz", "new.pb.gz", "-m", "a.md", "own:*>+5%", cwd=d)
        check("No baseline of benchmark to compare with" in text_of(d + "/a.md"), "the script says nothing")
        run(SCRIPT, "compare", "old.pb.gz", "new.pb.gz", "-m", "b.md", "-n", "a \"b\" -->", cwd=d)
        check(text_of(d + "/b.md").startswith("<!-- krait benchmark: a--b----- -->\n"), text_of(d + "/b.md"))


@case
def gets_baseline():
    """Only HTTP status 404 means that there is no baseline yet. No command line contains the token.
    """
    kit.need("curl")
    path = "/projects/5/jobs/artifacts/main/raw/krait.pb.gz"
    env = {"CI_PROJECT_ID": "5", "CI_DEFAULT_BRANCH": "main", "CI_JOB_NAME": "my job", "CI_JOB_TOKEN": "secret"}
    for answer, code in ((b"text", 0), (None, 0), (401, 1), (500, 1)):
        with folder() as d, gitlab([], {path: answer}) as (url, asked), curl_in(d) as said:
            done = subprocess.run([SCRIPT, "baseline", "a.gz"], cwd=d, env=dict(os.environ, **env, CI_API_V4_URL=url, PATH=d + ":" + os.environ["PATH"]),
                                  stderr=subprocess.PIPE, encoding="utf-8", check=False)
            check((done.returncode, asked[0][1].replace("+", "%20")) == (code, path + "?job=my%20job") and os.path.exists(d + "/a.gz") == (answer == b"text"), "%s %s" % (done, asked))
            check(answer != 401 or "can't get the baseline: HTTP 401" in done.stderr, done.stderr)
            check("job=my job" in said() and "secret" not in said(), said())
    done = subprocess.run([SCRIPT, "baseline", "a.gz"], env=dict(os.environ, **env, CI_API_V4_URL=url), stderr=subprocess.PIPE, encoding="utf-8", check=False)
    # no server listens at this address any more
    check(done.returncode == 1 and "can't get the baseline" in done.stderr, done)


@case
def benchmark_fails():
    """If the benchmark fails, the job ends with the benchmark's exit code, and there is no
    recording."""
    with folder() as d:
        run(SCRIPT, "record", "-n", "1", "-o", "a.pb.gz", "--", "sh", "-c", "exit 3", code=3, cwd=d)
        # The benchmark's environment doesn't contain the tokens.
        run(SCRIPT, "record", "-n", "1", "-o", "a.pb.gz", "--", "sh", "-c", "test -z \"$KRAIT_GITLAB_TOKEN$GH_TOKEN\" || exit 5; exit 3", code=3, cwd=d,
            env={"KRAIT_GITLAB_TOKEN": "secret", "GH_TOKEN": "secret"})
        run(SCRIPT, "record", "-n", "1", "-o", "a.pb.gz", "--", "true", code=127, cwd=d, env={"KRAIT": "no-such-krait"})
        # The benchmark writes a file, but fails in its first run, which only warms up.
        run(SCRIPT, "record", "-n", "1", "-o", "a.pb.gz", "--", "sh", "-c", "test ! -e x && touch x", code=1, cwd=d)
        check(not os.path.exists(d + "/a.pb.gz"), "a recording")
        for wrong in ((), ("record",), ("compare", "a"), ("comment",), ("else",)):
            run(SCRIPT, *wrong, code=2, cwd=d)


# A replacement for gh: it answers from the file `comments`, and appends its arguments to `asked`.
GH = """#!/bin/sh
echo "$*" >>asked
for word; do
    [ "$before" != --jq ] || filter=$word
    before=$word
done
case $* in
*viewer*) echo '{"data": {"viewer": {"login": "github-actions[bot]"}}}' ;;
*--paginate*) cat comments ;;
esac | { [ -z "$filter" ] || jq -r "$filter"; }
"""
MARK = "<!-- krait benchmark: %s -->\n"


def on_github(number, text, user="github-actions[bot]"):
    return {"id": number, "user": {"login": user}, "body": text}


@case
def comments_on_github():
    """The first comment is posted, and later replaced by a second one. Outside of a pull request
    nothing is posted. Comments of other users and of other benchmarks stay. A file that doesn't
    begin with krait's marker (MARK in benchmark.sh) isn't posted."""
    kit.need("jq")
    mine, post = MARK % "a", "api repos/a/b/issues/7/comments -F body=@a.md"
    others = [on_github(1, "see " + mine), on_github(2, mine, "somebody"), on_github(3, MARK % "b"), on_github(4, "krait benchmark")]
    with folder() as d:
        write(d + "/gh", GH, 0o755)
        write(d + "/a.md", mine + "text")
        env = {"PATH": d + ":" + os.environ["PATH"], "GITHUB_REPOSITORY": "a/b", "GITHUB_REF": "refs/pull/7/merge"}
        for comments, asked in ((others, post), ([*others, on_github(31, mine + "old"), on_github(32, mine)],
                                                 "api -X PATCH repos/a/b/issues/comments/31 -F body=@a.md")):
            write(d + "/comments", json.dumps(comments))
            write(d + "/asked", "")
            run(SCRIPT, "comment", "a.md", cwd=d, env=env)
            check(text_of(d + "/asked").splitlines()[2:] == [asked], text_of(d + "/asked"))
        write(d + "/asked", "")
        run(SCRIPT, "comment", "a.md", cwd=d, env=dict(env, GITHUB_REF="refs/heads/main"))
        check(text_of(d + "/asked") == "", text_of(d + "/asked"))
        write(d + "/a.md", "text")
        run(SCRIPT, "comment", "a.md", cwd=d, env=env, code=2)


@contextlib.contextmanager
def curl_in(d):
    """Puts a replacement for curl into @d. The replacement writes down its arguments. Yields a
    function that returns these arguments."""
    write(d + "/curl", "#!/bin/sh\necho \"$*\" >>%s/called\nexec %s \"$@\"\n" % (d, shutil.which("curl")), 0o755)
    yield lambda: text_of(d + "/called")


@contextlib.contextmanager
def gitlab(notes, files=None):
    """A server with the part of GitLab's API that the script uses. Yields its address and a list of
    its requests: (method, path, token, text)."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            asked.append((self.command, self.path, self.headers.get("PRIVATE-TOKEN"), urllib.parse.parse_qs(text).get("body", [""])[0]))
            said = notes if "/notes" in self.path else {"id": 1, "username": "me"} if self.path == "/user" else None
            found = (files or {}).get(self.path.split("?")[0]) if said is None else json.dumps(said, separators=(",", ":")).encode()
            self.send_response(found if isinstance(found, int) else 200 if found else 404)
            self.end_headers()
            self.wfile.write(found if isinstance(found, bytes) else b"{}")

        do_GET = do_POST = do_PUT = answer

        def log_message(self, *_):
            pass

    asked = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield "http://127.0.0.1:%d" % server.server_port, asked
        server.shutdown()


def note(number, text, author=1, system=False):
    return {"id": number, "type": None, "body": text, "author": {"id": author, "name": "x"}, "system": system}


@case
def comments_on_gitlab():
    """The comment is also posted to GitLab. No command line contains the token."""
    kit.need("curl")
    mine, at = MARK % "a", "/projects/5/merge_requests/9/notes"
    others = [note(1, "the krait benchmark says \"good\""), note(2, "see " + mine), note(3, mine, author=2), note(4, mine, system=True), note(5, MARK % "b"),
              note(6, "{\"id\":7,\"body\":\"%s" % mine)]
    for notes, method, path in ((others, "POST", at), ([*others, note(21, mine), note(22, mine)], "PUT", at + "/21")):
        with folder() as d, gitlab(notes) as (url, asked), curl_in(d) as called:
            write(d + "/a.md", mine + "new text & more")
            run(SCRIPT, "comment", "a.md", cwd=d, env={"GITLAB_CI": "true", "CI_API_V4_URL": url, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "9",
                                                       "KRAIT_GITLAB_TOKEN": "secret", "PATH": d + ":" + os.environ["PATH"]})
            check(asked[-1] == (method, path, "secret", mine + "new text & more") and [a[0] for a in asked[:-1]] == ["GET"] * 2, asked)
            check("/notes" in called() and "secret" not in called(), called())


def yaml():
    try:
        import yaml as module
    except ImportError as error:
        raise kit.Skip("no python3-yaml") from error
    return module


def action():
    return yaml().safe_load(text_of(ACTION + "/action.yml"))


def recipes():
    """Returns the indented blocks of docs/ci.md, as a user would type them."""
    blocks = re.findall(r"\n\n((?:    .*\n|\n)+)", text_of(ROOT + "/docs/ci.md"))
    return [textwrap.dedent(block).strip("\n") + "\n" for block in blocks]


def recipe(begin):
    return next(block for block in recipes() if block.startswith(begin))


class Github:
    """Runs an action's steps in @d as GitHub does: shell, environment, outputs, conditions of
    steps. The two steps that use GitHub's cache are actions of their own and aren't run."""

    def __init__(self, d, branch, **inputs):
        self.d, self.branch, self.failed, self.asked = d, branch, 0, []
        declared = action()["inputs"]
        self.inputs = {name: inputs.get(name, str(i.get("default", ""))) for name, i in declared.items()}
        self.env, self.outputs = {}, {}

    def wanted(self, condition):
        """Tells whether a step runs, given one of the conditions that action.yml has."""
        on_default = self.branch == "main"
        return {None: not self.failed,
                "github.ref_name != github.event.repository.default_branch": not self.failed and not on_default,
                "github.ref_name == github.event.repository.default_branch": not self.failed and on_default,
                "(success() || failure()) && steps.compare.conclusion != 'skipped' && inputs.token != ''": not on_default}[condition]

    def put_in(self, text):
        values = {"inputs." + name: value for name, value in self.inputs.items()}
        values.update({"steps.cpu.outputs.model": self.outputs.get("model", ""), "runner.os": "Linux", "runner.arch": "X64", "github.run_id": "1", "github.run_attempt": "1"})
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda m: values[m[1]], text)

    def step(self, step):
        if "uses" in step:
            self.asked.append((step["uses"].split("@")[0], self.put_in(step["with"]["key"]), self.put_in(step["with"]["path"])))
            return
        for name in "env", "output", "summary":
            write("%s/%s" % (self.d, name), "")
        env = dict(os.environ, **self.env, PATH=self.d + ":" + os.environ["PATH"], GITHUB_ENV=self.d + "/env", GITHUB_OUTPUT=self.d + "/output",
                   GITHUB_STEP_SUMMARY=self.d + "/summary", GITHUB_ACTION_PATH=ACTION, GITHUB_REPOSITORY="a/b", GITHUB_REF="refs/pull/7/merge")
        env.update({k: self.put_in(v) for k, v in step.get("env", {}).items()})
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.put_in(step["run"])], cwd=self.d, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=120, check=False)
        self.env.update(line.split("=", 1) for line in text_of(self.d + "/env").splitlines())
        self.outputs.update(line.split("=", 1) for line in text_of(self.d + "/output").splitlines())
        if text_of(self.d + "/summary"):
            shutil.copy(self.d + "/summary", self.d + "/summary.md")
        if done.returncode and not step.get("continue-on-error"):
            self.failed = done.returncode
            print(done.stdout)

    def run(self):
        for step in action()["runs"]["steps"]:
            if self.wanted(step.get("if")):
                self.step(step)
        return self


@case
def action_runs():
    """On the default branch the recording becomes the baseline. On another branch the recording is
    compared with the baseline, the result is posted as a comment, and the job fails."""
    inputs = {"command": kit.PYTHON + " bench.py", "runs": "2", "krait": kit.KRAIT, "token": "t", "limits": "own:bench.hot>+30%\n\nown:bench.parse>+90%\n"}
    with folder() as d:
        write(d + "/gh", GH, 0o755)
        write(d + "/comments", "[]")
        write(d + "/bench.py", BENCHMARK % 1)
        job = Github(d, "main", **inputs).run()
        check(not job.failed and [asked[0] for asked in job.asked] == ["actions/cache/restore", "actions/cache/save"], "%s %s" % (job.failed, job.asked))
        check(job.asked[0][1:] == job.asked[1][1:] and os.path.exists(os.path.join(d, job.asked[1][2])), "no baseline where it is kept: %s" % job.asked)
        check(re.search("-X64-[A-Za-z0-9-]+-1-1$", job.asked[0][1]), "no model of CPU in the key: %s" % job.asked)
        write(d + "/bench.py", BENCHMARK % 2)
        job = Github(d, "topic", **inputs).run()
        check(job.failed == 4 and job.asked[1:] == [], "%s %s" % (job.failed, job.asked))
        check(text_of(d + "/summary.md").count("bench.hot takes") == 1, text_of(d + "/summary.md"))
        check("body=@krait-benchmark.md" in text_of(d + "/asked"), "the action posts no comment")
        check(text_of(d + "/krait-benchmark.md").startswith(MARK % "benchmark"), "no mark")
        check(os.path.exists(os.path.join(d, job.outputs["page"])) and os.path.exists(os.path.join(d, job.outputs["recording"])), job.outputs)


@case
def action_needs_its_krait():
    """If the wheel of krait can't be installed, the step fails."""
    with folder() as d:
        write(d + "/pip", "#!/bin/sh\nexit 9\n", 0o755)
        check(Github(d, "main", command="true", krait="a.whl", token="").run().failed == 9, "went on without the wheel")


def actionlint(workflow, *extra):
    done = subprocess.run([ROOT + "/tests/setup/go.sh", "actionlint", "github.com/rhysd/actionlint@v1.7.7", "github.com/rhysd/actionlint/cmd/actionlint"],
                          stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode:
        raise kit.Skip(done.stdout.strip() or "actionlint can't be had")
    with folder() as d:
        os.makedirs(d + "/.github/workflows")
        os.mkdir(d + "/.git")
        shutil.copytree(ACTION, d + "/action")
        write(d + "/.github/workflows/a.yml", workflow)
        done = subprocess.run([done.stdout.strip(), *extra], cwd=d, stdout=subprocess.PIPE, encoding="utf-8", check=False)
        return done.returncode, done.stdout


def as_workflow(what):
    """Returns a workflow with the steps of the action, because only in a workflow actionlint looks
    through expressions and scripts."""
    inputs = {name: {"type": "string", "description": i["description"]} for name, i in what["inputs"].items()}
    return yaml().dump({"on": {"workflow_call": {"inputs": inputs}}, "jobs": {"a": {"runs-on": "ubuntu-latest", "steps": what["runs"]["steps"]}}})


@case
def action_lints():
    """actionlint finds no fault in the workflow of the docs, which calls the action with inputs
    that the action has, nor in the action's own steps. It finds a wrong word that the test
    plants in the workflow or in the steps."""
    workflow = re.sub(r"uses: \S+/packaging/action@\S+", "uses: ./action", recipe("on:\n"))
    check("./action" in workflow, "the recipe doesn't use the action")
    for text in workflow, as_workflow(action()):
        code, said = actionlint(text)
        check(code == 0, said)
    check(actionlint(workflow.replace("command:", "comand:"))[0] == 1, "an input that isn't there is taken")
    check(actionlint(as_workflow(action()).replace("inputs.runs", "inputs.rums"))[0] == 1, "an input that isn't there is used")


def gitlab_job():
    return yaml().safe_load(recipe("benchmark:\n"))["benchmark"]


@case
def gitlab_recipe():
    """The script of the GitLab recipe, run as GitLab's runner does: its lines one after the other,
    in one shell. The baseline comes from the last job of the default branch. The default branch
    itself is compared with nothing, because the branch's job would never succeed again after one
    failure."""
    kit.need("curl")
    job = gitlab_job()
    lines = "set -e\n" + "\n".join(job["script"]).replace("record -o", "record -n 1 -o")
    with folder() as d:
        record(d, "old.pb.gz", 1)
        write(d + "/bench.py", BENCHMARK % 3)
        for name in "krait", "python":
            os.symlink(kit.KRAIT if name == "krait" else kit.PYTHON, os.path.join(d, name))
        shutil.copy(SCRIPT, d)
        with open(d + "/old.pb.gz", "rb") as f:
            old = f.read()
        os.remove(d + "/old.pb.gz")
        baseline = {"/projects/5/jobs/artifacts/main/raw/krait.pb.gz": old}
        for files, request, code in (({}, "9", 0), (baseline, "9", 4), (baseline, "", 0)):
            with gitlab([], files) as (url, asked):
                env = {"GITLAB_CI": "true", "CI_API_V4_URL": url, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": request, "KRAIT_GITLAB_TOKEN": "secret",
                       "CI_JOB_NAME": "benchmark", "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_BRANCH": "topic", "CI_JOB_TOKEN": "j", "PATH": d + ":" + os.environ["PATH"]}
                run("sh", "-c", lines, code=code, cwd=d, env=env)
                posted = [text for method, path, _, text in asked if method == "POST"]
                check(len(posted) == bool(request), asked)
                check(not posted or ("bench.hot takes" in posted[0]) == bool(files), asked)
        for path in job["artifacts"]["paths"]:
            check(os.path.exists(os.path.join(d, path)), "no artifact " + path)


@case
def shell_recipe():
    """The recipe for other servers, run as docs/ci.md has it but with one run of the benchmark,
    fails the job and names the function."""
    with folder() as d:
        record(d, "baseline.pb.gz", 1)
        write(d + "/bench.py", BENCHMARK % 3)
        for name in "krait", "python":
            os.symlink(kit.KRAIT if name == "krait" else kit.PYTHON, os.path.join(d, name))
        shutil.copy(SCRIPT, d)
        run("sh", "-ec", recipe("sh benchmark.sh record").replace("record -o", "record -n 1 -o"), code=4, cwd=d, env={"PATH": d + ":" + os.environ["PATH"]})
        check("bench.hot takes" in text_of(d + "/krait.md"), "the comment doesn't name the function")


if __name__ == "__main__":
    sys.exit(kit.main())
