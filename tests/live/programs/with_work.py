# SPDX-License-Identifier: BSD-2-Clause
"""Programs that wait for something. `with_work.py NAME` runs the function NAME. A thread says
itself how its waits must be counted. Threads that say nothing are helpers, which are idle or run
event loops."""
import concurrent.futures
import fcntl
import functools
import http.client
import multiprocessing
import multiprocessing.pool
import os
import queue
import select
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
import xmlrpc.client

import mark
import web


def sleeps(*_):
    mark.waits()
    time.sleep(mark.FOREVER)


def waits(function, *args, **options):
    """Says that the main thread waits for something from now on, and calls @function, which waits.
    """
    mark.waits()
    mark.ready()
    function(*args, **options)


def started(function, *args):
    thread = threading.Thread(target=function, args=args, daemon=True)
    thread.start()
    return thread


# The standard library.

def consumers():
    def consume(get):
        mark.waits()
        get()
    for get in (queue.Queue().get, queue.SimpleQueue().get, queue.LifoQueue().get, queue.PriorityQueue().get,
                functools.partial(queue.Queue().get, timeout=mark.FOREVER), multiprocessing.Queue().get,
                multiprocessing.SimpleQueue().get, multiprocessing.JoinableQueue().get):
        started(consume, get)
    waits(multiprocessing.Queue().get)


def locks():
    def take(what):
        mark.waits()
        what()
    lock, semaphore, ours = threading.Lock(), threading.Semaphore(0), multiprocessing.Lock()
    lock.acquire()
    ours.acquire()
    reentrant = threading.RLock()
    reentrant.acquire()
    for what in (lock.acquire, reentrant.acquire, semaphore.acquire, threading.Event().wait, ours.acquire,
                 threading.Barrier(2).wait, multiprocessing.Event().wait, multiprocessing.Semaphore(0).acquire):
        started(take, what)
    waits(started(sleeps).join)


def executor_results():
    pool = concurrent.futures.ThreadPoolExecutor(3)
    futures = [pool.submit(sleeps) for _ in range(2)]
    pool.submit(lambda: waits(futures[0].result))
    waits(lambda: list(concurrent.futures.as_completed(futures)))


def executor_wait():
    pool = concurrent.futures.ProcessPoolExecutor(1)
    waits(concurrent.futures.wait, [pool.submit(sleeps)])


def pool_results():
    pool = multiprocessing.pool.ThreadPool(3)
    results = [pool.apply_async(sleeps) for _ in range(2)]
    pool.apply_async(waits, (results[0].get,))
    waits(results[1].get)


def thread_pool_of_c():
    """Gives tasks to a pool that are C functions. Such a task has no Python frame."""
    pool, lock, empty = multiprocessing.pool.ThreadPool(3), threading.Lock(), queue.SimpleQueue()
    lock.acquire()
    numbers = set(pool.map(lambda _: time.sleep(0.1) or threading.get_native_id(), range(3), chunksize=1))
    for task in ((lock.acquire, ()), (time.sleep, (mark.FOREVER,)), (empty.get, ())):
        pool.apply_async(*task)
    for number in numbers if len(numbers) == 3 else ():
        mark.write(number, "waits")
    waits(time.sleep, mark.FOREVER)


def pool_map():
    pool = multiprocessing.Pool(2)
    waits(pool.map, sleeps, range(2))


def managed():
    manager = multiprocessing.Manager()
    mark.ready()
    waits(manager.Queue().get)


def timer_that_runs():
    timer = threading.Timer(0.1, sleeps)
    timer.daemon = True
    timer.start()
    waits(timer.join)


def targets():
    """A thread whose target is Event.wait has the same frames as a Timer, except for one line
    number."""
    kept = threading.Event(), threading.Condition()
    thread = threading.Thread(target=kept[0].wait, daemon=True)
    thread.start()
    mark.write(thread.native_id, "waits")
    waits(thread.join)


def processes():
    def join():
        process = multiprocessing.Process(target=sleeps, daemon=True)
        process.start()
        mark.waits()
        process.join()
    started(runs_child)
    waits(join)


def runs_child():
    mark.waits()
    subprocess.run(["sleep", str(mark.FOREVER)], check=True)


def reads_child():
    waits(subprocess.check_output, ["sleep", str(mark.FOREVER)])


def http_client():
    def connect():
        connection = http.client.HTTPConnection(*mark.SLOW)
        connection.request("GET", "/")
        connection.getresponse()
    started(lambda: waits(urllib.request.urlopen, mark.SLOW_URL, timeout=mark.FOREVER))
    waits(connect)


def xml_client():
    waits(xmlrpc.client.ServerProxy(mark.SLOW_URL).system.listMethods)


def sockets():
    def polls():
        poller = select.poll()
        poller.register(socket.create_connection(mark.SLOW), select.POLLIN)
        waits(poller.poll)
    started(polls)
    started(lambda: waits(select.select, [socket.create_connection(mark.SLOW)], [], []))
    waits(socket.create_connection(mark.SLOW).recv, 1)


def mail():
    import smtplib

    waits(smtplib.SMTP, *mark.SLOW)


def ftp():
    import ftplib

    waits(ftplib.FTP().connect, *mark.SLOW)


def tls():
    import ssl

    context = ssl.create_default_context()
    waits(lambda: context.wrap_socket(socket.create_connection(mark.SLOW), server_hostname="localhost"))


def files():
    path = os.environ["TRUTH"] + "/locked"
    held = open(path, "w")
    fcntl.flock(held, fcntl.LOCK_EX)
    os.mkfifo(path + ".fifo")
    started(lambda: waits(open, path + ".fifo"))
    waits(fcntl.flock, open(path), fcntl.LOCK_EX)


def database():
    path = os.environ["TRUTH"] + "/data"
    first, second = (sqlite3.connect(path, timeout=mark.FOREVER, isolation_level=None) for _ in "ab")
    first.execute("BEGIN EXCLUSIVE")
    waits(second.execute, "BEGIN EXCLUSIVE")


# Other libraries.

def requests():
    import requests

    waits(requests.get, mark.SLOW_URL)


def urllib3_checkout():
    import urllib3

    pool = urllib3.HTTPConnectionPool(*mark.SLOW, maxsize=1, block=True)
    started(lambda: waits(pool.request, "GET", "/"))
    time.sleep(0.5)
    waits(pool.request, "GET", "/")


def sqlalchemy_checkout():
    import sqlalchemy
    import sqlalchemy.pool

    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.QueuePool, pool_size=1, max_overflow=0,
                                      pool_timeout=mark.FOREVER)
    kept = engine.connect()
    waits(engine.connect)
    kept.close()


def mysql():
    import pymysql

    waits(pymysql.connect, host=mark.SLOW[0], port=mark.SLOW[1], read_timeout=mark.FOREVER)


def redis_consumers():
    import redis

    client = redis.Redis.from_url(mark.REDIS, socket_timeout=mark.FOREVER)
    listener = client.pubsub()
    listener.subscribe("nothing")
    started(lambda: waits(lambda: list(listener.listen())))
    waits(client.blpop, "nothing-%d" % os.getpid(), 0)


def redis_pool():
    import redis

    pool = redis.BlockingConnectionPool.from_url(mark.REDIS, max_connections=1, timeout=mark.FOREVER,
                                                socket_timeout=mark.FOREVER)
    client = redis.Redis(connection_pool=pool)
    started(lambda: waits(client.blpop, "nothing-%d" % os.getpid(), 0))
    time.sleep(0.5)
    waits(client.get, "x")


def celery_result():
    import celery

    app = celery.Celery(broker=mark.REDIS, backend=mark.REDIS)
    app.conf.task_default_queue = "nobody"
    waits(app.send_task("nothing").get)


def joblib(backend):
    import joblib

    with joblib.parallel_config(backend):
        waits(joblib.Parallel(2), (joblib.delayed(sleeps)() for _ in range(2)))


joblib_loky = functools.partial(joblib, "loky")
joblib_threading = functools.partial(joblib, "threading")
joblib_multiprocessing = functools.partial(joblib, "multiprocessing")


def asyncio_task():
    """A coroutine waits for another coroutine, which waits for a thread."""
    import asyncio

    async def main():
        mark.tell("loop")
        mark.ready()
        loop = asyncio.get_running_loop()
        await asyncio.ensure_future(loop.run_in_executor(None, sleeps))
    asyncio.run(main())


def asyncio_in_thread():
    """A thread waits for a coroutine that the event loop of another thread runs."""
    import asyncio

    loop = asyncio.new_event_loop()

    def runs():
        mark.tell("loop")
        loop.run_forever()
    started(runs)
    waits(asyncio.run_coroutine_threadsafe(asyncio.sleep(mark.FOREVER), loop).result)


def asyncio_blocked():
    import asyncio

    async def main():
        waits(queue.Queue().get)
    asyncio.run(main())


def uvloop():
    import asyncio

    import uvloop

    async def main():
        mark.tell("loop")
        mark.ready()
        await asyncio.get_running_loop().run_in_executor(None, sleeps)
    uvloop.run(main())


def uvloop_blocked():
    import uvloop

    async def main():
        sleeps()
    uvloop.run(main())


def aiohttp():
    import asyncio

    import aiohttp

    async def main():
        mark.tell("loop")
        mark.ready()
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(mark.FOREVER)) as session:
            await session.get(mark.SLOW_URL)
    asyncio.run(main())


def trio():
    import trio

    async def main():
        mark.tell("loop")
        mark.ready()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, sleeps)
            stream = await trio.open_tcp_stream(*mark.SLOW)
            await stream.receive_some(1)
    trio.run(main)


def trio_blocked():
    import trio

    async def main():
        sleeps()
    trio.run(main)


def tornado():
    import tornado.ioloop

    def runs():
        mark.tell("loop")
        mark.ready()
        tornado.ioloop.IOLoop.current().run_in_executor(None, sleeps)
    loop = tornado.ioloop.IOLoop.current()
    loop.add_callback(runs)
    loop.start()


def twisted():
    from twisted.internet import reactor, threads

    def runs():
        mark.tell("loop")
        mark.ready()
        threads.deferToThread(sleeps)
        threads.deferToThread(lambda: waits(threads.blockingCallFromThread, reactor, threads.deferToThread, sleeps))
    reactor.callWhenRunning(runs)
    reactor.run()


def twisted_blocked():
    from twisted.internet import reactor

    reactor.callWhenRunning(sleeps)
    reactor.run()


def gevent():
    from gevent import monkey
    monkey.patch_all()
    import gevent

    mark.tell("loop")
    mark.ready()
    gevent.joinall([gevent.spawn(web.asks) for _ in range(3)])


def gevent_threads():
    import gevent

    mark.tell("loop")
    mark.ready()
    gevent.get_hub().threadpool.apply(sleeps)


def gevent_blocked():
    """A greenlet calls a blocking function that gevent hasn't replaced, and so blocks its whole
    thread."""
    import gevent

    gevent.spawn(sleeps).join()


def eventlet():
    import eventlet

    mark.tell("loop")
    mark.ready()
    eventlet.connect(mark.SLOW).recv(1)


def eventlet_blocked():
    import eventlet

    eventlet.spawn(sleeps).wait()


def apscheduler():
    import datetime

    from apscheduler.schedulers.background import BackgroundScheduler

    scheduler = BackgroundScheduler(timezone=datetime.timezone.utc)
    scheduler.add_job(sleeps, "date", run_date=datetime.datetime.now(datetime.timezone.utc))
    scheduler.start()
    waits(time.sleep, mark.FOREVER)


def dramatiq_stub():
    import dramatiq
    from dramatiq.brokers.stub import StubBroker

    broker = StubBroker()
    dramatiq.set_broker(broker)
    dramatiq.actor(actor_name="sleeps", time_limit=10 ** 9)(sleeps).send()
    dramatiq.Worker(broker, worker_threads=2).start()
    waits(broker.join, "default")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
