# SPDX-License-Identifier: BSD-2-Clause
"""Programs without work. `without_work.py NAME` runs the function NAME. Their threads are idle or
run event loops, except those that say themselves that they wait."""
import functools
import http.server
import multiprocessing
import os
import socketserver
import sys
import threading
import time
import xmlrpc.server

import mark
import web


def rests():
    """Says that the main thread waits for something, and sleeps. The pool of the program has no
    work."""
    mark.waits()
    mark.ready()
    time.sleep(mark.FOREVER)


def quick(_=None):
    return os.getpid()


def wsgiref():
    import wsgiref.simple_server

    server = wsgiref.simple_server.make_server("127.0.0.1", mark.PORT, web.wsgi)
    mark.ready()
    server.serve_forever()


def threaded_http():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", mark.PORT), http.server.SimpleHTTPRequestHandler)
    mark.ready()
    server.serve_forever()


def forking_tcp():
    server = socketserver.ForkingTCPServer(("127.0.0.1", mark.PORT), socketserver.StreamRequestHandler)
    mark.ready()
    server.serve_forever()


def flask():
    import flask

    flask.Flask("site").run(port=mark.PORT)


def xmlrpc_server():
    server = xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", mark.PORT), logRequests=False)
    mark.ready()
    server.serve_forever()


def timers():
    for _ in range(3):
        timer = threading.Timer(mark.FOREVER, quick)
        timer.daemon = True
        timer.start()
    rests()


def thread_pool():
    from multiprocessing.pool import ThreadPool

    pool = ThreadPool(3)
    pool.map(quick, range(9))
    rests()


def process_pool():
    pool = multiprocessing.Pool(2)
    pool.map(quick, range(9))
    rests()


def executors():
    import concurrent.futures

    threads = concurrent.futures.ThreadPoolExecutor(2)
    list(threads.map(quick, range(9)))
    processes = concurrent.futures.ProcessPoolExecutor(2)
    list(processes.map(quick, range(9)))
    rests()


def manager():
    kept = multiprocessing.Manager()
    kept.dict()["a"] = 1
    rests()


def logging_listener():
    import logging.config

    logging.config.listen(mark.PORT).start()
    rests()


def joblib(backend):
    import joblib

    with joblib.parallel_config(backend):
        parallel = joblib.Parallel(2)
        with parallel:
            parallel(joblib.delayed(quick)(i) for i in range(8))
            rests()


joblib_loky = functools.partial(joblib, "loky")
joblib_threading = functools.partial(joblib, "threading")
joblib_multiprocessing = functools.partial(joblib, "multiprocessing")


def trio():
    import trio

    async def uses_thread():
        while True:
            # a quick task, after which trio keeps the worker thread for 10 s
            await trio.to_thread.run_sync(quick)
            await trio.sleep(3)

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(uses_thread)
            mark.ready()
            await trio.serve_tcp(trio.aclose_forcefully, mark.PORT, host="127.0.0.1")
    trio.run(main)


def tornado():
    import tornado.ioloop
    import tornado.web
    import tornado.wsgi

    tornado.web.Application([("/quick", tornado.web.RequestHandler)]).listen(mark.PORT, "127.0.0.1")
    mark.ready()
    tornado.ioloop.IOLoop.current().start()


def twisted(name):
    if name:
        __import__("twisted.internet.%s" % name, fromlist=["install"]).install()
    from twisted.internet import reactor, threads
    from twisted.web import resource, server

    reactor.listenTCP(mark.PORT, server.Site(resource.Resource()), interface="127.0.0.1")
    reactor.callWhenRunning(lambda: threads.deferToThread(quick).addCallback(lambda _: mark.ready()))
    reactor.run()


twisted_epoll = functools.partial(twisted, "epollreactor")
twisted_poll = functools.partial(twisted, "pollreactor")
twisted_select = functools.partial(twisted, "selectreactor")
twisted_asyncio = functools.partial(twisted, "asyncioreactor")


def gevent():
    from gevent import monkey
    monkey.patch_all()
    from gevent import pywsgi

    server = pywsgi.WSGIServer(("127.0.0.1", mark.PORT), web.wsgi, log=None)
    server.start()
    mark.ready()
    server.serve_forever()


def gevent_threads():
    import gevent

    gevent.get_hub().threadpool.map(quick, range(4))
    mark.ready()
    gevent.sleep(mark.FOREVER)


def eventlet(hub):
    import eventlet
    from eventlet import hubs, wsgi

    hubs.use_hub(hub)
    listener = eventlet.listen(("127.0.0.1", mark.PORT))
    mark.ready()
    wsgi.server(listener, web.wsgi, log_output=False)


eventlet_epolls = functools.partial(eventlet, "epolls")
eventlet_poll = functools.partial(eventlet, "poll")
eventlet_selects = functools.partial(eventlet, "selects")


def aiohttp():
    import asyncio

    from aiohttp import web as site

    async def answer(_):
        await asyncio.get_running_loop().run_in_executor(None, quick)
        return site.Response(text="ok")
    app = site.Application()
    app.router.add_get("/quick", answer)
    site.run_app(app, host="127.0.0.1", port=mark.PORT, print=None)


def apscheduler(name):
    import datetime
    import importlib

    module = importlib.import_module("apscheduler.schedulers." + name)
    scheduler = getattr(module, name.title() + "Scheduler")(timezone=datetime.timezone.utc)
    scheduler.add_job(quick, "interval", seconds=mark.FOREVER, next_run_time=datetime.datetime.now(datetime.timezone.utc))
    if name == "background":
        scheduler.start()
        rests()
    mark.ready()
    scheduler.start()


apscheduler_blocking = functools.partial(apscheduler, "blocking")
apscheduler_background = functools.partial(apscheduler, "background")


def watchdog():
    import watchdog.events
    import watchdog.observers

    observer = watchdog.observers.Observer()
    observer.schedule(watchdog.events.FileSystemEventHandler(), os.environ["TRUTH"] + "/..", recursive=False)
    observer.start()
    rests()


def dramatiq_stub():
    import dramatiq
    from dramatiq.brokers.stub import StubBroker

    broker = StubBroker()
    dramatiq.set_broker(broker)
    dramatiq.actor(actor_name="quick")(quick).send()
    worker = dramatiq.Worker(broker, worker_threads=2)
    worker.start()
    rests()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
