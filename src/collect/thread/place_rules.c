/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The list of places in programs and libraries at which threads wait because they have no work, and
 * of event loops; see places.h.
 */
#include <stddef.h>

#include "collect/thread/places.h"

/* in 2.7 a thread waits for a lock by sleeping again and again */
#define LOCKS  (WAIT_KIND_BIT(LOCK) | WAIT_KIND_BIT(SLEEP))
#define POLLS  (WAIT_KIND_BIT(POLL) | WAIT_KIND_BIT(SLEEP))
#define READS  (LOCKS | WAIT_KIND_BIT(POLL) | WAIT_KIND_BIT(PIPE) | WAIT_KIND_BIT(NET))
#define SLEEPS WAIT_KIND_BIT(SLEEP)
#define ACCEPTS                                                                                    \
	(WAIT_KIND_BIT(NET) | WAIT_KIND_BIT(POLL) | WAIT_KIND_BIT(SLEEP) | WAIT_KIND_BIT(IO))

const char *const place_ways[] = {
	"threading.wait",
	"threading.wait_for",
	"threading.acquire",
	"threading.__enter__",
	"queue.get",
	"Queue.get",
	"selectors.select",
	"selectors._select",
	"SocketServer._eintr_retry",
	"socket.readinto",
	"socket.readline",
	"socket.recv_into",
	"ssl.recv_into",
	"ssl.read",
	"multiprocessing.connection.recv",
	"multiprocessing.connection.recv_bytes",
	"multiprocessing.connection._recv_bytes",
	"multiprocessing.connection._recv",
	"multiprocessing.connection.poll",
	"multiprocessing.connection._poll",
	"multiprocessing.connection.wait",
	"multiprocessing.queues.get",
	"multiprocessing.synchronize.__enter__",
	"multiprocessing.process.join",
	"multiprocessing.popen_fork.wait",
	"multiprocessing.popen_fork.poll",
	"joblib.pool.get",
	"_pyio._peek_unlocked",
	"_pyio.peek",
	"_pyio.nreadahead",
	"_pyio.readline",
	"cheroot.server.readline",
	"billiard.pool.receive",
	"billiard.pool._recv",
	"billiard.pool._poll_result",
	"billiard.pool._process_result",
	"billiard.synchronize.__enter__",
	"billiard.queues.get",
	"billiard.queues.get_payload",
	"billiard.connection.recv",
	"billiard.connection.recv_bytes",
	"billiard.connection._recv_bytes",
	"billiard.connection._recv",
	"billiard.connection.poll",
	"billiard.connection._poll",
	"billiard.connection.wait",
	"kombu.utils.eventio.poll",
	"kombu.connection.drain_events",
	"kombu.transport.virtual.base.drain_events",
	"gevent._ffi.loop.run",
	"gevent._threading.get",
	"gevent._threading.wait",
	"watchdog.utils.delayed_queue.get",
	"redis.*",
	NULL,
};

#define IDLE(name, states_, ...)                                                                   \
	{                                                                                          \
		.place = PLACE_IDLE, .at = name, .states = states_, __VA_ARGS__                    \
	}
#define LOOP(name, ...)                                                                            \
	{                                                                                          \
		.place = PLACE_LOOP, .at = name, .states = POLLS, __VA_ARGS__                      \
	}
#define THROUGH(name) .through = name
#define IN_C	      .through = ""

const struct place_rule place_rules[] = {
	/*
	 * Pools of threads and of processes, and the threads that these pools start for themselves.
	 */
	IDLE("concurrent.futures.thread._worker", LOCKS, .in_thread = true),
	IDLE("concurrent.futures.process._process_worker", READS,
	     THROUGH("multiprocessing.queues.get")),
	IDLE("concurrent.futures.process.wait_result_broken_or_wakeup", READS,
	     THROUGH("multiprocessing.connection.wait")),
	IDLE("concurrent.futures.process._queue_management_worker", READS,
	     THROUGH("multiprocessing.connection.wait")),
	IDLE("multiprocessing.pool.worker", READS, THROUGH("multiprocessing.queues.get")),
	IDLE("multiprocessing.pool.worker", READS, THROUGH("joblib.pool.get")),
	IDLE("multiprocessing.pool.worker", LOCKS, THROUGH("queue.get")),
	IDLE("multiprocessing.pool.worker", LOCKS, THROUGH("Queue.get")),
	/*
	 * worker() also runs tasks that are C functions, which may wait themselves. So the rule
	 * gives the line of worker() that waits for tasks, which is the same from 3.7 to 3.15.
	 */
	IDLE("multiprocessing.pool.worker", LOCKS, IN_C, .line = 17),
	/*
	 * This rule is for Timer.run(), which waits until its time has come. Up to 3.10 names may
	 * lack the class, so Thread.run() has the same name. But only Timer.run() is further down
	 * in the file than its caller, _bootstrap_inner().
	 */
	IDLE("threading.run", LOCKS, THROUGH("threading.wait"), .after_caller = true),
	IDLE("multiprocessing.pool._handle_tasks", LOCKS),
	IDLE("multiprocessing.pool._handle_results", READS),
	IDLE("multiprocessing.pool._handle_workers", SLEEPS, IN_C),
	IDLE("multiprocessing.pool._wait_for_updates", READS),
	IDLE("multiprocessing.queues._feed", LOCKS, THROUGH("threading.wait")),
	IDLE("multiprocessing.managers.serve_client", READS,
	     THROUGH("multiprocessing.connection.recv")),
	IDLE("multiprocessing.managers.serve_forever", LOCKS, THROUGH("threading.wait")),
	IDLE("multiprocessing.forkserver.main", POLLS, THROUGH("selectors.select")),
	IDLE("multiprocessing.resource_tracker.main", READS, IN_C),
	IDLE("multiprocessing.semaphore_tracker.main", READS, IN_C),
	IDLE("loky.process_executor._process_worker", READS, THROUGH("multiprocessing.queues.get")),
	IDLE("loky.process_executor.wait_result_broken_or_wakeup", READS,
	     THROUGH("multiprocessing.connection.wait")),
	IDLE("loky.backend.queues._feed", LOCKS, THROUGH("threading.wait")),
	IDLE("loky.backend.resource_tracker.main", READS, IN_C),
	IDLE("logging.handlers.dequeue", READS),
	IDLE("logging.config.serve_until_stopped", POLLS, IN_C),
	IDLE("trio._core._thread_cache._work", LOCKS, IN_C),
	IDLE("twisted._threads._threadworker.work", LOCKS, THROUGH("queue.get")),
	IDLE("gevent.threadpool.run", LOCKS, THROUGH("gevent._threading.get")),
	IDLE("watchdog.observers.api.dispatch_events", LOCKS, THROUGH("queue.get")),
	IDLE("watchdog.observers.inotify_c._check_inotify_fd", POLLS, IN_C),
	IDLE("watchdog.observers.inotify_c.read_events", READS | WAIT_KIND_BIT(IO), IN_C),
	IDLE("watchdog.observers.inotify_buffer.read_event", LOCKS,
	     THROUGH("watchdog.utils.delayed_queue.get")),
	IDLE("watchdog.observers.inotify_move_event_grouper.read_event", LOCKS,
	     THROUGH("watchdog.utils.delayed_queue.get")),
	IDLE("apscheduler.schedulers.blocking._main_loop", LOCKS, THROUGH("threading.wait")),
	/* servers that wait for a client */
	IDLE("socket.accept", ACCEPTS, IN_C),
	IDLE("socketserver.serve_forever", POLLS, THROUGH("selectors.select")),
	IDLE("socketserver.handle_request", POLLS, THROUGH("selectors.select")),
	IDLE("SocketServer.serve_forever", POLLS, THROUGH("SocketServer._eintr_retry")),
	IDLE("SocketServer.handle_request", POLLS, THROUGH("SocketServer._eintr_retry")),
	/*
	 * a connection on which no request has come yet; requests are handled further in, in
	 * do_GET() and the like
	 */
	IDLE("http.server.handle_one_request", ACCEPTS, THROUGH("socket.readinto")),
	IDLE("BaseHTTPServer.handle_one_request", ACCEPTS, THROUGH("socket.readline")),
	IDLE("wsgiref.simple_server.handle", ACCEPTS, THROUGH("socket.readinto")),
	IDLE("werkzeug.serving.handle_one_request", ACCEPTS, THROUGH("socket.readinto")),
	IDLE("waitress.task.handler_thread", LOCKS, THROUGH("threading.wait")),
	IDLE("cheroot.server.read_request_line", ACCEPTS, THROUGH("cheroot.server.readline")),
	IDLE("cheroot.connections.select", POLLS, THROUGH("selectors.select")),
	IDLE("cheroot.server._serve_unservicable", LOCKS, THROUGH("queue.get")),
	IDLE("cheroot.workers.threadpool.run", LOCKS, THROUGH("queue.get")),
	IDLE("cheroot.workers.threadpool._process_connections_until_interrupted", LOCKS,
	     THROUGH("queue.get")),
	IDLE("gunicorn.workers.sync.wait", POLLS, IN_C),
	IDLE("gunicorn.workers.gthread.wait_for_data", POLLS, THROUGH("selectors.select")),
	IDLE("gunicorn.workers.gthread.run", POLLS, THROUGH("selectors.select")),
	IDLE("gunicorn.workers.gthread.wait_for_and_dispatch_events", POLLS,
	     THROUGH("selectors.select")),
	IDLE("gunicorn.arbiter.sleep", POLLS, IN_C),
	IDLE("gunicorn.arbiter.wait_for_signals", LOCKS),
	IDLE("uvicorn.supervisors.multiprocess.run", LOCKS, THROUGH("threading.wait")),
	IDLE("uvicorn.supervisors.multiprocess.pong", READS,
	     THROUGH("multiprocessing.connection.recv")),
	IDLE("hypercorn.run.run", POLLS, THROUGH("multiprocessing.connection.wait")),
	IDLE("uvicorn.supervisors.basereload.pause", LOCKS, THROUGH("threading.wait")),
	/* Celery: its children, its main process, the threads of its pool */
	IDLE("billiard.pool.workloop", READS, THROUGH("billiard.pool.receive")),
	IDLE("billiard.pool.body", READS),
	IDLE("kombu.asynchronous.hub.create_loop", POLLS),
	IDLE("kombu.async.hub.create_loop", POLLS),
	IDLE("celery.beat.start", SLEEPS, IN_C),
	IDLE("celery.worker.loops.synloop", READS, THROUGH("kombu.connection.drain_events")),
	IDLE("celery.worker.loops._loop_cycle", READS, THROUGH("kombu.connection.drain_events")),
	IDLE("celery.utils.timer2._next_entry", LOCKS, THROUGH("threading.wait")),
	IDLE("celery.utils.timer2.run", SLEEPS, IN_C),
	/* RQ, Dramatiq, huey */
	IDLE("rq.queue.lpop", READS, THROUGH("redis.*")),
	IDLE("rq.queue.lmove", READS, THROUGH("redis.*")),
	/* redis-py's PubSubWorkerThread */
	IDLE("threading._bootstrap_inner", READS, THROUGH("redis.*")),
	IDLE("dramatiq.worker.run", LOCKS, THROUGH("queue.get")),
	IDLE("dramatiq.brokers.redis.__next__", SLEEPS, IN_C),
	IDLE("dramatiq.brokers.stub.__next__", LOCKS, THROUGH("queue.get")),
	IDLE("dramatiq.middleware.time_limit.run", SLEEPS, IN_C),
	IDLE("dramatiq.cli.worker_process", SLEEPS, IN_C),
	IDLE("dramatiq.cli.watch_logs", POLLS, THROUGH("multiprocessing.connection.wait")),
	IDLE("dramatiq.cli.main", READS | WAIT_KIND_BIT(CHILD),
	     THROUGH("multiprocessing.process.join")),
	IDLE("huey.consumer.sleep", LOCKS, THROUGH("threading.wait")),
	IDLE("huey.consumer.sleep_for_interval", LOCKS, THROUGH("threading.wait")),
	IDLE("huey.consumer.loop", LOCKS, THROUGH("threading.wait")),
	IDLE("huey.storage.dequeue", READS, THROUGH("redis.*")),
	/* event loops */
	LOOP("asyncio.base_events._run_once", THROUGH("selectors.select")),
	LOOP("asyncio.runners.run", IN_C), /* a loop in C: uvloop's */
	LOOP("uvloop.run", IN_C),
	LOOP("gevent.hub.run"),
	LOOP("trio._core._io_epoll.get_events", IN_C),
	LOOP("tornado.ioloop.start", IN_C),
	LOOP("twisted.internet.epollreactor.doPoll", IN_C),
	LOOP("twisted.internet.pollreactor.doPoll", IN_C),
	LOOP("twisted.internet.selectreactor.doSelect", IN_C),
	LOOP("eventlet.hubs.poll.do_poll", IN_C),
	LOOP("eventlet.hubs.epolls.do_poll", IN_C),
	LOOP("eventlet.hubs.poll.wait", IN_C),
	LOOP("eventlet.hubs.selects.wait", IN_C),
	LOOP("asyncore.poll", IN_C),
	LOOP("asyncore.poll2", IN_C),
	LOOP("waitress.wasyncore.poll", IN_C),
	LOOP("waitress.wasyncore.poll2", IN_C),
	{},
};

_Static_assert(ARRAY_SIZE(place_rules) - 1 <= PLACE_MAX_RULES, "");
