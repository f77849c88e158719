# SPDX-License-Identifier: BSD-2-Clause
"""The list of programs for idle_programs.py, with how each is started and used."""
import dataclasses

PACKAGES = ("gunicorn", "gevent", "uvicorn", "uvloop", "celery", "joblib", "trio", "tornado", "twisted", "eventlet", "redis",
            "rq", "dramatiq", "huey", "apscheduler", "waitress", "hypercorn", "cheroot", "aiohttp", "watchdog", "requests",
            "sqlalchemy", "pymysql", "flask")


@dataclasses.dataclass
class Program:
    name: str
    kind: str  # "idle": without work; "waits": some of its threads wait for something
    command: list  # what Python gets
    # how to count waits of threads that write no file about themselves (programs/mark.py)
    rest: str = "idle|loop"
    port: bool = True  # whether the program listens on {port}
    client: bool = True  # whether the test connects a client that sends nothing
    said: str = ""  # text that the program prints when it has started
    pages: tuple = ()  # paths of web pages that the test requests from the program
    orders: tuple = ()  # tasks that the test gives to the program
    marks: int = 0  # at least this many threads write a file about themselves
    redis: bool = False
    env: dict = dataclasses.field(default_factory=dict)


def server(name, command, rest="idle|loop", **more):
    return Program(name, "waits" if more.get("marks") else "idle", command.split(), rest, **more)


def queue(name, command, env, said, orders, marks=0, rest="idle", redis=True):
    return Program(name, "waits" if marks else "idle", command.split(), rest, False, False, said, (), orders, marks, redis, env)


def script(name, kind, file, rest="idle|loop", marks=1, redis=False, port=False):
    return Program("%s-%s" % (kind, name), kind, ["{here}/%s.py" % file, name], rest, port, port, "", (), (), marks, redis)


def idle(name, rest="idle", marks=0, port=False):
    return script(name, "idle", "without_work", rest, marks, port=port)


def waits(name, marks=1, rest="idle|loop", redis=False):
    return script(name, "waits", "with_work", rest, marks, redis)


GUNICORN = "-m gunicorn -b 127.0.0.1:{port} --timeout 1000 --log-level error web:wsgi "
UVICORN = "-m uvicorn --port {port} --log-level error --lifespan off web:asgi "
HYPERCORN = "-m hypercorn -b 127.0.0.1:{port} web:asgi "
WAITRESS = "-m waitress --listen=127.0.0.1:{port} web:wsgi"
CHEROOT = "-m cheroot --bind 127.0.0.1:{port} --threads 3 web:wsgi"
CELERY = "-m celery -A jobs worker -l info -n {name} "
FILES, REDIS = "filesystem://", "redis://127.0.0.1:{redis}/0"

SERVERS = [
    server("gunicorn-sync", GUNICORN + "-w 2", client=False),
    server("gunicorn-two-ports", GUNICORN + "-w 1 -b 127.0.0.1:{port2}", client=False),
    server("gunicorn-gthread", GUNICORN + "-k gthread --threads 3"),
    server("gunicorn-gevent", GUNICORN + "-k gevent"),
    server("uvicorn", UVICORN + "--loop asyncio", "loop"),
    server("uvicorn-uvloop", UVICORN + "--loop uvloop", "loop"),
    server("uvicorn-workers", UVICORN + "--workers 2 --loop asyncio"),
    server("uvicorn-workers-uvloop", UVICORN + "--workers 2 --loop uvloop"),
    server("uvicorn-reload", UVICORN + "--reload"),
    server("hypercorn", HYPERCORN + "-w 1"),
    server("hypercorn-trio", HYPERCORN + "-w 1 -k trio"),
    server("hypercorn-uvloop", HYPERCORN + "-w 2 -k uvloop"),
    server("waitress", WAITRESS),
    server("cheroot", CHEROOT),
    server("http-server", "-m http.server --bind 127.0.0.1 {port}", "idle"),
    server("gunicorn-sync-asks", GUNICORN + "-w 1", pages=("/asks",), marks=1, client=False),
    server("gunicorn-sync-runs", GUNICORN + "-w 1", pages=("/runs",), marks=1, client=False),
    server("gunicorn-gthread-asks", GUNICORN + "-k gthread --threads 4", pages=("/asks", "/locks", "/consumes"), marks=3),
    server("gunicorn-gevent-asks", GUNICORN + "-k gevent", pages=("/green", "/green"), marks=1),
    server("uvicorn-awaits", UVICORN + "--loop asyncio", "loop", pages=("/awaits", "/asks", "/consumes"), marks=3),
    server("uvicorn-blocks", UVICORN + "--loop asyncio", pages=("/blocks",), marks=1),
    server("uvloop-awaits", UVICORN + "--loop uvloop", "loop", pages=("/awaits", "/sleeps"), marks=2),
    server("uvloop-blocks", UVICORN + "--loop uvloop", pages=("/blocks",), marks=1),
    server("waitress-asks", WAITRESS, pages=("/asks", "/locks"), marks=2),
    server("cheroot-asks", CHEROOT, pages=("/asks", "/consumes"), marks=2),
]
QUEUES = [
    queue("celery-prefork-files", CELERY + "-P prefork -c 2", {"QUEUE": "celery", "BROKER": FILES}, " ready.", ("quick",), redis=False),
    queue("celery-prefork-redis", CELERY + "-P prefork -c 2", {"QUEUE": "celery", "BROKER": REDIS}, " ready.", ("quick",)),
    queue("celery-threads", CELERY + "-P threads -c 2", {"QUEUE": "celery", "BROKER": REDIS}, " ready.", ("quick",)),
    queue("celery-solo", CELERY + "-P solo", {"QUEUE": "celery", "BROKER": FILES}, " ready.", ("quick",), redis=False),
    queue("celery-gevent", CELERY + "-P gevent -c 2", {"QUEUE": "celery", "BROKER": REDIS}, " ready.", ("quick",), rest="idle|loop"),
    queue("celery-beat", "-m celery -A jobs beat -l info", {"QUEUE": "celery", "BROKER": FILES}, "beat: Starting", (), redis=False),
    queue("rq", "rq worker --url " + REDIS + " rq", {"QUEUE": "rq"}, "Listening on", ("quick",)),
    queue("dramatiq", "-m dramatiq -p 1 -t 2 jobs", {"QUEUE": "dramatiq"}, "ready for action", ("quick",)),
    queue("huey-redis", "-m huey.bin.huey_consumer jobs.huey -w 2", {"QUEUE": "huey", "BROKER": "redis"}, "The following commands",
          ("quick",)),
    queue("huey-sqlite", "-m huey.bin.huey_consumer jobs.huey -w 2", {"QUEUE": "huey", "BROKER": "sqlite"},
          "The following commands", ("quick",), redis=False),
    queue("celery-prefork-waits", CELERY + "-P prefork -c 3", {"QUEUE": "celery", "BROKER": REDIS}, " ready.", ("asks", "sleeps"), 2),
    queue("celery-threads-waits", CELERY + "-P threads -c 3", {"QUEUE": "celery", "BROKER": REDIS}, " ready.", ("locks", "consumes"), 2),
    queue("celery-solo-waits", CELERY + "-P solo", {"QUEUE": "celery", "BROKER": FILES}, " ready.", ("runs",), 1, redis=False),
    queue("rq-waits", "rq worker --url " + REDIS + " rq-waits", {"QUEUE": "rq"}, "Listening on", ("asks",), 1, "idle|waits"),
    queue("dramatiq-waits", "-m dramatiq -p 1 -t 3 jobs", {"QUEUE": "dramatiq"}, "ready for action", ("asks", "locks"), 2),
    queue("huey-waits", "-m huey.bin.huey_consumer jobs.huey -w 3", {"QUEUE": "huey", "BROKER": "redis"}, "The following commands",
          ("sleeps", "consumes"), 2),
]
IDLE = [
    idle("wsgiref", port=True), idle("flask", port=True), idle("threaded_http", port=True), idle("forking_tcp", port=True),
    idle("xmlrpc_server", port=True), idle("timers", marks=1), idle("thread_pool", marks=1), idle("process_pool", marks=1),
    idle("executors", marks=1), idle("manager", marks=1), idle("logging_listener", marks=1),
    idle("joblib_loky", marks=1), idle("joblib_threading", marks=1), idle("joblib_multiprocessing", marks=1),
    idle("trio", "idle|loop", port=True), idle("tornado", "loop", port=True), idle("twisted_epoll", "idle|loop", port=True),
    idle("twisted_poll", "idle|loop", port=True), idle("twisted_select", "idle|loop", port=True),
    idle("twisted_asyncio", "idle|loop", port=True), idle("gevent", "loop", port=True), idle("gevent_threads", "idle|loop"),
    idle("eventlet_epolls", "loop", port=True), idle("eventlet_poll", "loop", port=True), idle("eventlet_selects", "loop", port=True),
    idle("aiohttp", "idle|loop", port=True), idle("apscheduler_blocking"), idle("apscheduler_background", marks=1),
    idle("watchdog", marks=1), idle("dramatiq_stub", marks=1),
]
WAITS = [
    waits("consumers", 9), waits("locks", 10), waits("executor_results", 4), waits("executor_wait", 2), waits("pool_results", 4),
    waits("thread_pool_of_c", 4), waits("pool_map", 3), waits("managed", 1, "idle|waits"), waits("timer_that_runs", 2), waits("targets", 2),
    waits("processes", 3), waits("reads_child"), waits("http_client", 2), waits("xml_client"), waits("sockets", 3),
    waits("mail"), waits("ftp"), waits("tls"), waits("files", 2), waits("database"), waits("requests"),
    waits("urllib3_checkout", 2), waits("sqlalchemy_checkout"), waits("mysql"), waits("redis_consumers", 2, redis=True),
    waits("redis_pool", 2, redis=True), waits("celery_result", redis=True), waits("joblib_loky", 3), waits("joblib_threading", 3),
    waits("joblib_multiprocessing", 3), waits("asyncio_task", 2), waits("asyncio_in_thread", 2), waits("asyncio_blocked"),
    waits("uvloop", 2), waits("uvloop_blocked"), waits("aiohttp"), waits("trio", 2), waits("trio_blocked"), waits("tornado", 2),
    waits("twisted", 3), waits("twisted_blocked"), waits("gevent"), waits("gevent_threads", 2), waits("gevent_blocked"),
    waits("eventlet"), waits("eventlet_blocked"), waits("apscheduler", 2), waits("dramatiq_stub", 2),
]
PROGRAMS = SERVERS + QUEUES + IDLE + WAITS
