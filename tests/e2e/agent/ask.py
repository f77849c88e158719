#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What krait agent says of itself and of its store: status, metrics, and the answers of the query
server. The truth is the kernel's accounting of the agent's processes, the files' sizes, and the
users as whom the programs ran. Prometheus checks the format of the metrics."""
import atexit
import contextlib
import functools
import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait, refused
from judge import pprof

NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
MEMBERS = 4711  # the id of the group krait, as which the server runs


# a label's value between quotes: every quote, backslash or newline in it is escaped
TEXT = r'"([^"\\\n]|\\["\\n])*"'
METRIC = re.compile(r"[a-z_]+(\{[a-z_]+=%s(,[a-z_]+=%s)*\})?" % (TEXT, TEXT))


def said(*words):
    done = krait(*words)
    check(done.returncode == 0 and not done.stderr, done.stderr)
    return done.stdout


def status(store):
    return json.loads(said("agent", "status", "--json", "--store", store))


def until(true, what, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        check(time.monotonic() < end, "%s: not within %d s" % (what, seconds))
        time.sleep(0.1)


def metrics_of(text):
    """Parses Prometheus' text format. Returns {name with labels: value}."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            check(METRIC.fullmatch(name), "a wrong line: %r" % line)
            found[name] = float(value)
    return found


def fine_for_prometheus(text):
    promtool = shutil.which("promtool")
    if not promtool:
        print("without promtool, its opinion isn't asked")
        return
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=30, check=False)
    check(done.returncode == 0, done.stdout + done.stderr)


@kit.case
def figures():
    """`status --json` shows the agent's CPU time as the kernel counts it, and the store's bytes as
    the files have them."""
    with folder() as d, kit.python():
        store = d + "/store"
        agent = kit.start_agent(store, "--max-size", "64M", "-F", "199")
        until(lambda: status(store)["recorded"] > 100, "100 samples")
        cpu = kit.cpu_seconds(agent.pid)
        facts = status(store)
        check(facts["agent"] == {"pid": agent.pid}, facts)
        check(abs(facts["costs"]["sampler_cpu_seconds"] - cpu) < 0.25 + 0.1 * cpu, "%s, the kernel says %.2f s" % (facts, cpu))
        rate = facts["rate"]
        check(rate["asked_hz"] == 199 and (rate["hz"] == 199 or 0 < rate["hz"] < 199 and rate["lowered"]), facts)
        check(0 < facts["costs"]["writer_cpu_seconds"] < cpu, facts)
        check(facts["keeps"]["limit_bytes"] == 64 << 20, facts)
        check(abs(facts["keeps"]["to"] - time.time()) < 5, facts)
        kit.end_agent(agent)
        facts = status(store)
        files = [os.stat(os.path.join(store, name)).st_blocks * 512 for name in os.listdir(store) if name.startswith("store.db")
                 and not name.endswith("-shm")]
        check(facts["agent"] is None and facts["keeps"]["bytes"] == sum(files), (facts, files))
        check(facts["recorded"] == facts["keeps"]["samples"] and facts["lost"]["disk"] == 0, facts)


@kit.case
def counters():
    """The counters don't begin at 0 again when the agent is started again. Prometheus accepts their
    format."""
    with folder() as d, kit.python():
        store, before = d + "/store", {}
        for _ in range(2):
            agent = kit.start_agent(store)
            wanted = before.get("krait_store_samples", 0) + 50
            until(lambda: status(store)["keeps"]["samples"] > wanted, "50 samples more")
            kit.end_agent(agent)
            text = said("agent", "status", "--prometheus", "--store", store)
            fine_for_prometheus(text)
            now = metrics_of(text)
            print({name: (before.get(name), value) for name, value in now.items()})
            counted = [name for name in now if "_total" in name]
            check(len(counted) > 5 and all(now[name] >= before.get(name, 0) for name in counted), (before, now))
            check(now["krait_agent_samples_total"] == now["krait_store_samples"], now)
            check(now["krait_agent_up"] == 0, now)
            before = now
        check(now["krait_agent_samples_total"] > status(store)["recorded"] > 50, "the first agent's samples aren't counted")


def burns(name):
    return "def %s():\n while True:\n  sum(range(1000))\n%s()" % (name, name)


# A program that runs two functions, prints the CPU time of one of them, and ends.
SHOP = """
import time
def work(seconds):
    begun = time.process_time()
    while time.process_time() < begun + seconds:
        sum(range(1000))
    return time.process_time() - begun
def cart():
    return work(1.5)
def till():
    return work(0.7)
spent = cart()
till()
print(spent, flush=True)
"""
# What a program that runs as nobody may have taken as root, in setpriv, before that.
SETPRIV_NS = 50_000_000
# {name of a program: (how it is started, its source)}. One runs as root, one as nobody, and one
# began as root and can become root again.
PROGRAMS = {"roots": ([], burns("roots")), "nobodys": (AS_NOBODY, burns("nobodys")),
            "mixed": ([], "import os\nos.setresuid(%d, %d, 0)\n" % (NOBODY, NOBODY) + burns("mixed"))}


@functools.lru_cache(None)
def recorded():
    """Returns a directory with a store of what PROGRAMS did, and the programs' pids. The directory
    also has a copy of krait that the user nobody may execute."""
    d = tempfile.mkdtemp(prefix="krait-e2e.")
    atexit.register(shutil.rmtree, d)
    os.chmod(d, 0o755)
    shutil.copy(kit.KRAIT, d + "/krait")
    with contextlib.ExitStack() as running:
        pids = {name: running.enter_context(kit.Background(*prefix, kit.PYTHON, "-c", source)).pid for name, (prefix, source) in PROGRAMS.items()}
        agent = kit.start_agent(d + "/store", "-F", "299")
        running.callback(agent.kill)
        until(lambda: set(values_of(d, "root", "last", "1m", "--store", d + "/store")) >= {str(pid) for pid in pids.values()}, "all programs")
        kit.end_agent(agent)
    return d, pids


def values_of(d, who, *words):
    """Returns the processes in the answer that the user @who gets: {pid: CPU time}."""
    path = os.path.join(tempfile.mkdtemp(dir=d), "answer.pb.gz")
    os.chmod(os.path.dirname(path), 0o777)
    done = subprocess.run([*({"root": [], "nobody": AS_NOBODY}.get(str(who), who)), d + "/krait", *map(str, words), "-o", path],
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    if "no samples of that time" in done.stderr or "no agent has" in done.stderr:
        return {}
    check(done.returncode == 0, done.stderr)
    profile, found = pprof.read(path), {}
    at = [name for name, _ in profile.sample_types].index("cpu")
    for sample in profile.samples:
        found[sample.labels["pid"]] = found.get(sample.labels["pid"], 0) + sample.values[at]
    return found


@contextlib.contextmanager
def server(d, *more, prefix=(), end=True):
    """Yields (the process of a query server, the path of the server's socket)."""
    path = os.path.join(tempfile.mkdtemp(dir=d), "agent.sock")
    os.chmod(os.path.dirname(path), 0o755)
    with subprocess.Popen([*prefix, d + "/krait", "agent", "serve", "--store", d + "/store", "--socket", path, *more], stderr=subprocess.PIPE,
                          encoding="utf-8") as running:
        try:
            line = running.stderr.readline()
            check("answering questions" in line, line)
            yield running, path
        finally:
            if end:
                running.terminate()
            said = running.stderr.read()
        check(running.wait(30) == 0 and not said, "exit code %d: %s" % (running.returncode, said))
        check(not os.path.exists(path), "the socket is left")


# A client that runs as another user. It sends its input to a socket and prints the answer.
CLIENT = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
try:
    s.sendall(sys.stdin.buffer.read())
    s.shutdown(socket.SHUT_WR)
except OSError:
    pass
while block := s.recv(65536):
    sys.stdout.buffer.write(block)
"""


def ask(path, request, who=()):
    done = subprocess.run([*who, kit.PYTHON, "-c", CLIENT, path], input=request.encode(), stdout=subprocess.PIPE, timeout=60, check=True)
    return done.stdout


def last_ms(seconds=3600):
    now = int(time.time() * 1000)
    return "since %d\nuntil %d\n" % (now - seconds * 1000, now + 1000)


@kit.case
def users():
    """Root and members of the group krait get the samples of every process. Another user gets only
    samples of processes of that user, whatever the query asks for."""
    kit.need("setpriv")
    d, pids = recorded()
    store = ["--store", d + "/store"]
    with open(d + "/group", "w") as f:
        f.write("krait:x:%d:\n" % MEMBERS)
    with server(d, prefix=["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/group && exec "$@"', d + "/group"]) as (running, path):
        everything = values_of(d, "root", "last", "1h", *store)
        check(set(everything) >= {str(pid) for pid in pids.values()}, (everything, pids))
        asked, own = ["last", "1h", *store, "--socket", path], str(pids["nobodys"])
        most = everything[own]
        got = values_of(d, "nobody", *asked)
        check(set(got) == {own} and most - SETPRIV_NS <= got[own] <= most,
              "nobody gets %s of %s" % (got, everything))
        check(values_of(d, "nobody", *asked, "-p", pids["nobodys"]) == got, "-p")
        # This window is longer than three hours. For root, the server may answer from sums over all
        # users; for this user it may not.
        check(values_of(d, "nobody", "last", "4h", *store, "--socket", path) == got, "4h")
        for name in "roots", "mixed":
            check(values_of(d, "nobody", *asked, "-p", pids[name]) == {}, "nobody gets %s" % name)
        member = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--groups", str(MEMBERS)]
        check(values_of(d, member, *asked) == everything, "a member of group krait doesn't get everything")
        whole = ask(path, "krait 1 profile\n" + last_ms() + "\n")
        check(whole.startswith(b"krait 1 ok "), whole[:80])
        for lie in "label uid=0\n", "label uid=0\nlabel uid=%d\n" % NOBODY, "label uid=%d\n" % NOBODY:
            check(b"refused only root and group krait may ask for label uid" in ask(path, "krait 1 profile\n" + last_ms() + lie + "\n", AS_NOBODY), lie)
        check(b"refused the request has an unknown line" in ask(path, "krait 1 profile\n" + last_ms() + "uid 0\n\n", AS_NOBODY), "uid 0")
        check(b'"schema": 1' in ask(path, "krait 1 status\n\n", AS_NOBODY), "status")
        rights = {line.split(":")[0]: line.split()[1] for line in open("/proc/%d/status" % running.pid) if line[:3] in ("Cap", "NoN")}
        check(int(rights["CapEff"], 16) == int(rights["CapPrm"], 16) == 0 and rights["NoNewPrivs"] == "1", rights)
    done = subprocess.run([*AS_NOBODY, d + "/krait", "last", "1h", *store, "--socket", d + "/none"], capture_output=True, text=True, check=False)
    check(done.returncode == 1 and "root starts one with `krait agent serve`" in done.stderr, done.stderr)


@kit.case
def hostile():
    """Malformed, endless, silent and very many requests are refused, or end in time. Meanwhile root
    still gets answers. The processes that answer have limits."""
    kit.need("setpriv")
    d, _ = recorded()
    wanted = {"": b"begins with", "krait 2 profile\n\n": b"begins with", "krait 1 no\n\n": b"no such kind", "krait 1 profile\n\n": b"ends before it begins",
              "krait 1 profile\nsince -1\nuntil 5\n\n": b"a number of milliseconds", "krait 1 profile\nsince 1\nuntil 99999999999999999999\n\n": b"a number of",
              "krait 1 profile\nsince 1\nuntil 9223372036854775807\n\n": b"before it begins", "krait 1 profile\n" + last_ms() + "label x" * 2 + "\n\n": b"KEY=VALUE",
              "krait 1 profile\n" + last_ms() + "label a=b\n" * 65 + "\n": b"more than 64", "x" * 1000000: b"8192 bytes at most", "krait 1 status\0\n\n": b"NUL",
              "krait 1 profile\n" + last_ms() + "label pid=../../etc/passwd\n\n": b"krait 1 ok"}
    with server(d) as (running, path):
        for request, words in wanted.items():
            answer = ask(path, request, AS_NOBODY)
            check((b"krait 1 refused" in answer or words == b"krait 1 ok") and words in answer, "%r: %r" % (request[:80], answer[:200]))
        check(ask(path, "POST /metrics HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 405"), "POST")
        check(ask(path, "GET /etc/passwd HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 404"), "a path")
        begun = time.monotonic()
        # These connections count towards the limit of the user whose process opened them. They send
        # nothing, and the process opens more until one is refused.
        silent = subprocess.Popen([*AS_NOBODY, kit.PYTHON, "-c", "import socket, sys\nall = []\nfor _ in range(50):\n s = socket.socket(socket.AF_UNIX)\n"
                                   " s.settimeout(0.5)\n s.connect(sys.argv[1])\n all.append(s)\n try:\n  print(len(all), s.recv(99), flush=True)\n"
                                   " except TimeoutError:\n  pass\nall[0].settimeout(60)\nprint('end', all[0].recv(99), flush=True)", path],
                                  stdout=subprocess.PIPE, text=True)
        line = silent.stdout.readline()
        check(line.startswith("5 b'krait 1 refused the server answers too many"), line)
        with open("/proc/%d/task/%d/children" % (running.pid, running.pid)) as f:
            answering = f.read().split()
        check(len(answering) == 4, answering)
        limits = open("/proc/%s/limits" % answering[0]).read()
        confined = open("/proc/%s/status" % answering[0]).read()
        check("\nSeccomp:\t2\n" in confined and "\nNoNewPrivs:\t1\n" in confined and "\nCapPrm:\t0000000000000000\n" in confined, confined)
        size = int(re.search(r"Max address space +(\d+)", limits)[1])
        check(size <= (65 << 20) + 1024 * int(re.search(r"VmPeak:\s+(\d+)", confined)[1]), limits)
        check(ask(path, "krait 1 status\n\n").startswith(b"krait 1 ok "), "root isn't answered")
        *_, line = silent.stdout
        check(line == "end b''\n" and time.monotonic() - begun < 30, line)
        silent.wait()


@kit.case
def idle():
    """If systemd starts the query server, the server takes over systemd's socket, and ends when
    nobody has asked for a while. The server needs little memory."""
    d, _ = recorded()
    with server(d, "--idle", "1s", end=False):
        pass
    with folder() as place, socket.socket(socket.AF_UNIX) as given:
        given.bind(place + "/sock")
        given.listen()
        # systemd passes the socket as descriptor 3, and writes the id of the process that gets the
        # socket into LISTEN_PID.
        with subprocess.Popen(["sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&0 </dev/null', "sh", d + "/krait", "agent", "serve", "--store", d + "/store", "--idle", "2s"],
                              stdin=given, stderr=subprocess.PIPE, text=True) as running:
            check(ask(place + "/sock", "krait 1 status\n\n").startswith(b"krait 1 ok "), "no answer")
            check(running.wait(30) == 0, running.stderr.read())
        check(os.path.exists(place + "/sock"), "systemd's socket is gone")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(port, path="/metrics", **headers):
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@kit.case
def metrics():
    """By TCP, a request gets metrics and nothing else, and only if it names this host. Requests
    that name other hosts are refused."""
    d, _ = recorded()
    port = free_port()
    with open(d + "/token", "w") as f:
        f.write("0123456789abcdef0123\n")
    os.chmod(d + "/token", 0o644)
    serve = ["agent", "serve", "--store", d + "/store", "--socket", d + "/none.sock"]
    refused(1, "others may read the token", *serve, "--token-file", d + "/token")
    refused(1, "isn't an address that only this machine can reach", *serve, "--metrics", "0.0.0.0:%d" % port)
    os.chmod(d + "/token", 0o600)
    with server(d, "--metrics", "127.0.0.1:%d" % port, "--token-file", d + "/token") as (_, path):
        code, text = get(port)
        check("krait_service" not in text, "without the token")
        check("krait_service_cpu_seconds_total{" in get(port, Authorization="Bearer 0123456789abcdef0123")[1], "with the token")
        check(code == 200 and metrics_of(text)["krait_agent_samples_total"] > 100, text)
        fine_for_prometheus(text)
        for headers, wanted in ({"Host": "evil.example:%d" % port}, 403), ({"Host": "127.0.0.1"}, 403), ({"Host": "localhost:%d" % port}, 200), \
                ({"Authorization": "Bearer wrong"}, 401), ({"Authorization": "Bearer 0123456789abcdef0123"}, 200):
            check(get(port, **headers)[0] == wanted, headers)
        check(get(port, "/../store.db")[0] == 404, "a path")
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(b"POST /mark HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 1\r\n\r\nx" % port)
            check(s.recv(999).startswith(b"HTTP/1.1 405 "), "TCP takes marks")
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(b"krait 1 profile\n" + last_ms().encode() + b"\n")
            check(s.recv(999).startswith(b"krait 1 refused TCP is for metrics"), "TCP gives profiles")
        fine_for_prometheus(ask(path, "GET /metrics HTTP/1.1\r\n\r\n", AS_NOBODY).decode().split("\r\n\r\n", 1)[1])
        check(b"krait_service" not in ask(path, "GET /metrics HTTP/1.1\r\n\r\n", AS_NOBODY), "nobody sees services")
        check(b"krait_service" in ask(path, "GET /metrics HTTP/1.1\r\n\r\n"), "root sees no services")


@kit.case
def services():
    """The metrics' CPU seconds of a service and of a named function equal what the kernel and the
    program say. A hostile name of a service does no harm. The counters stay when the agent is
    started again. Only users who may see everything get these metrics."""
    name = 'a"b\\c} 1\nkrait_agent_up 7'
    with folder() as d:
        with open(d + "/shop.py", "w") as f:
            f.write(SHOP)
        agent = kit.start_agent(d + "/store", "-F", "999", "--max-cpu", "100", "--service-from", "otel", "--count-function", "shop.cart", "--count-function", "shop.none")
        program = subprocess.Popen([kit.PYTHON, d + "/shop.py"], stdout=subprocess.PIPE, env={**os.environ, "OTEL_SERVICE_NAME": name})
        spent = float(program.stdout.readline())
        _, program.returncode, usage = os.wait4(program.pid, 0)
        cpu = usage.ru_utime + usage.ru_stime
        kit.end_agent(agent)
        texts = []
        for _ in range(2):
            texts.append(said("agent", "status", "--prometheus", "--store", d + "/store"))
            kit.end_agent(kit.start_agent(d + "/store"))
        fine_for_prometheus(texts[0])
        wanted = "\n".join(line for line in texts[0].splitlines() if line.startswith("krait_service_cpu"))
        found = metrics_of(texts[0])
        # The agent has replaced the newline in the service's name by a "?".
        service = found['krait_service_cpu_seconds_total{service="a\\"b\\\\c} 1?krait_agent_up 7"}']
        function = found['krait_function_cpu_seconds_total{function="shop.cart"}']
        print("service: %.3f s, the kernel says %.3f; function: %.3f s, it says %.3f" % (service, cpu, function, spent))
        check(found["krait_agent_up"] == 0, "a name became a metric")
        # The CPU seconds may be off by three standard errors and by the program's start.
        for seconds, truth in (service, cpu), (function, spent):
            check(abs(seconds - truth) <= 3 * math.sqrt(truth / 999) + 0.05, "%.3f s instead of %.3f: %s" % (seconds, truth, wanted))
        check(found['krait_function_cpu_seconds_total{function="shop.none"}'] == 0, texts[0])
        again = metrics_of(texts[1])
        check(all(again[key] >= value for key, value in found.items() if key.startswith("krait_service_")), "a counter fell")


@kit.case
def marks():
    """Root and members of the group krait can mark moments through the query server, and see which
    windows of time the store keeps because of a mark (pins). Another user can't. A mark's words are
    only shown as text. Without an agent nothing is marked."""
    kit.need("setpriv")
    member = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--groups", str(MEMBERS)]
    with folder() as d:
        os.chmod(d, 0o755)
        shutil.copy(kit.KRAIT, d + "/krait")
        with open(d + "/group", "w") as f:
            f.write("krait:x:%d:\n" % MEMBERS)
        agent = kit.start_agent(d + "/store", "--max-cpu", "100")
        with server(d, prefix=["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/group && exec "$@"', d + "/group"]) as (_, path):
            def by(who, *words):
                return subprocess.run([*who, d + "/krait", *words, "--store", d + "/store", "--socket", path], capture_output=True, text=True, timeout=30, check=False)
            done = by(member, "agent", "mark", "deploy 1.2.3")
            check(done.returncode == 0 and "krait last --pin 1 " in done.stderr, done.stderr)
            for words in ["agent", "mark", "a secret"], ["last", "--pin", "1"], ["last", "--mark", "deploy"]:
                done = by(AS_NOBODY, *words)
                check(done.returncode == 1 and "only root and group krait may" in done.stderr and "deploy" not in done.stdout, done.stderr)
            done = by(member, "last", "--mark", "deploy")
            check("pin 1, mark: deploy 1.2.3" in done.stderr, done.stderr)
            answer = ask(path, "krait 1 mark\nwords a\x1b[2Jb\n\n")
            check(answer.startswith(b"krait 1 ok ") and answer.endswith(b" mark a?[2Jb\n"), answer)
            for words, reason in ("", b"refused a mark needs words"), ("words \t\n", b"a mark needs words"), ("words %s\n" % ("x" * 200), b"199 bytes at most"):
                check(reason in ask(path, "krait 1 mark\n" + words + "\n"), words)
            post = "POST /mark HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
            answer = ask(path, post % (7, "Host: y and more"))
            check(answer.startswith(b"HTTP/1.1 200 OK\r\n") and answer.endswith(b" mark Host: y\n"), answer)
            for who, request, reason in (AS_NOBODY, post % (1, "x"), b"HTTP/1.1 403 "), ((), post % (9, "short"), b"shorter than Content-Length"), \
                    ((), post % (200, "x" * 200), b"199 bytes at most"), ((), "POST /mark HTTP/1.1\r\n\r\nx", b"HTTP/1.1 400 "), ((), post % (99999, "x"), b"HTTP/1.1 400 "):
                check(reason in ask(path, request, who), request)
            check(b'"pins": null, "triggers": null' in ask(path, "krait 1 status\n\n", AS_NOBODY), "nobody sees pins")
            check(json.loads(ask(path, "krait 1 status\n\n").split(b"\n", 1)[1])["triggers"] == {"mark": 3}, "root sees no pins")
            check(b"krait_agent_triggers_total" not in ask(path, "GET /metrics HTTP/1.1\r\n\r\n", AS_NOBODY), "nobody sees triggers")
            kit.end_agent(agent)
            done = by(member, "agent", "mark", "late")
            check(done.returncode == 1 and "no agent records" in done.stderr, done.stderr)


@kit.full_case
def prometheus():
    """The distribution's Prometheus can read the metrics. The agent is started again meanwhile, and
    Prometheus sees no counter fall."""
    kit.need("prometheus")
    port, own = free_port(), free_port()
    with folder() as d, kit.python(), contextlib.ExitStack() as running:
        shutil.copy(kit.KRAIT, d + "/krait")
        os.chmod(d, 0o755)
        agent = kit.start_agent(d + "/store")
        running.enter_context(server(d, "--metrics", "127.0.0.1:%d" % port))
        with open(d + "/prometheus.yml", "w") as f:
            f.write("global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: krait\n  static_configs:\n  - targets: ['127.0.0.1:%d']\n" % port)
        running.enter_context(kit.Background("prometheus", "--config.file", d + "/prometheus.yml", "--storage.tsdb.path", d + "/tsdb", "--web.listen-address", "127.0.0.1:%d" % own))

        def value(query):
            try:
                found = json.loads(get(own, "/api/v1/query?query=" + urllib.parse.quote(query))[1])["data"]["result"]
            except (OSError, ValueError):
                return None
            return float(found[0]["value"][1]) if found else None
        until(lambda: (value("krait_agent_samples_total") or 0) > 100, "100 samples by Prometheus", 60)
        kit.end_agent(agent)
        before = status(d + "/store")["recorded"]
        agent = kit.start_agent(d + "/store")
        until(lambda: value("krait_agent_samples_total") > before + 100, "the next agent's samples", 60)
        kit.end_agent(agent)
        check(value('up{job="krait"}') == 1, "up")
        check(value("sum(resets({__name__=~'krait_.*_total'}[5m]))") == 0, "a counter fell")


if __name__ == "__main__":
    sys.exit(kit.main())
