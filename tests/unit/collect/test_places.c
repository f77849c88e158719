/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * krait has a list of places in library code by which it knows that a thread has no work or runs an
 * event loop. The test says for each of many stacks whether krait must say that of its thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "collect/thread/places.h"

#define LOCK   (WAIT_LOCK + 1)
#define SLEEP  (WAIT_SLEEP + 1)
#define POLL   (WAIT_POLL + 1)
#define NET    (WAIT_NET + 1)
#define PIPE   (WAIT_PIPE + 1)
#define GIL    (WAIT_GIL + 1)
#define CHILD  (WAIT_CHILD + 1)

#define THREAD " < threading.run < threading._bootstrap_inner < threading._bootstrap"
#define MAIN   " < app.main < app.<module>"

/*
 * A stack, the innermost frame first. "MODULE.FUNCTION" is a Python frame, whose file is in an
 * installed package, or at MODULE if that is an absolute path; "FILE.so FUNCTION" is native, "[gc]"
 * is the garbage collector. "MODULE.FUNCTION:9@5": line 9 of a function that begins on line 5.
 */
struct known {
	const char *stack;
	uint32_t state;
};

static const struct known without_work[] = {
	{"concurrent/futures/thread._worker" THREAD, LOCK},
	{"queue.get < concurrent/futures/thread._worker" THREAD, LOCK},
	{"threading.wait < Queue.get < concurrent/futures/thread._worker < threading.run < "
	 "threading.__bootstrap_inner < threading.__bootstrap",
	 SLEEP},
	{"multiprocessing/synchronize.__enter__ < multiprocessing/queues.get < "
	 "concurrent/futures/process._process_worker < multiprocessing/process.run" MAIN,
	 LOCK},
	{"multiprocessing/connection._recv < multiprocessing/connection._recv_bytes < "
	 "multiprocessing/connection.recv_bytes < multiprocessing/queues.get < "
	 "multiprocessing/pool.worker < multiprocessing/process.run" MAIN,
	 PIPE},
	{"selectors.select < multiprocessing/connection.wait < "
	 "concurrent/futures/process.wait_result_broken_or_wakeup < "
	 "concurrent/futures/process.run" THREAD,
	 POLL},
	{"libc.so.6 sem_wait < _queue.so _queue_SimpleQueue_get_impl < "
	 "multiprocessing/pool.worker:114@97" THREAD,
	 LOCK},
	{"multiprocessing/pool.worker:114@97" THREAD, LOCK},
	{"threading.wait:1@900 < threading.wait:2@800 < threading.run:1290@1280 < "
	 "threading._bootstrap_inner:990@980 < threading._bootstrap:950@940",
	 LOCK},
	{"socket.readinto < redis/_parsers/socket._read < redis/client.parse_response < "
	 "redis/client.run < threading._bootstrap_inner < threading._bootstrap",
	 POLL},
	{"socket.readinto < /v/lib/python3.12/site-packages/redis/client.run < "
	 "threading._bootstrap_inner < threading._bootstrap",
	 POLL},
	{"socket.readinto < redis/connection.read < redis/client.blmove < rq/queue.lmove < "
	 "rq/worker/base.dequeue" MAIN,
	 NET},
	{"kombu/transport/virtual/base.drain_events < kombu/connection.drain_events < "
	 "celery/worker/loops._loop_cycle < celery/worker/loops.synloop" MAIN,
	 SLEEP},
	{"multiprocessing/pool._handle_tasks" THREAD, LOCK},
	{"multiprocessing/pool._handle_workers" THREAD, SLEEP},
	{"threading.wait < multiprocessing/queues._feed" THREAD, LOCK},
	{"threading.wait < queue.get < logging/handlers.dequeue < logging/handlers._monitor" THREAD,
	 LOCK},
	{"socket.accept < app.serve" MAIN, NET},
	{"socket.accept < ssl.accept < app.serve" MAIN, POLL},
	{"selectors.select < socketserver.serve_forever" MAIN, POLL},
	{"SocketServer._eintr_retry < SocketServer.serve_forever" MAIN, POLL},
	{"socket.readinto < http/server.handle_one_request < http/server.handle" THREAD, NET},
	{"gunicorn/workers/sync.wait < gunicorn/workers/sync.run_for_one" MAIN, POLL},
	{"selectors.select < gunicorn/workers/gthread.run" MAIN, POLL},
	{"gunicorn/arbiter.sleep < gunicorn/arbiter.run" MAIN, POLL},
	{"multiprocessing/queues.get < joblib/externals/loky/process_executor._process_worker" MAIN,
	 LOCK},
	{"multiprocessing/connection.recv < joblib/pool.get < multiprocessing/pool.worker" MAIN,
	 PIPE},
	{"billiard/connection.wait < billiard/connection._poll < billiard/connection.poll < "
	 "billiard/pool._recv < billiard/pool.receive < billiard/pool.workloop" MAIN,
	 POLL},
	{"kombu/utils/eventio.poll < kombu/asynchronous/hub.create_loop < "
	 "celery/worker/loops.asynloop" MAIN,
	 POLL},
	{"threading.wait < shop/jobs.next_job < shop/jobs.run" THREAD, LOCK},
	{"socket.readinto < redis/connection.read < shop/jobs.next_job < shop/jobs.run" MAIN, NET},
	{"shop/jobs.Worker.pause < shop/jobs.run" MAIN, SLEEP},
};

static const struct known with_work[] = {
	{"queue.get < app.consumer" THREAD, LOCK},
	{"threading.wait < queue.get < urllib3/connectionpool._get_conn < app.fetch" MAIN, LOCK},
	{"threading.wait < queue.get < sqlalchemy/util/queue.get < "
	 "sqlalchemy/pool/impl._do_get" MAIN,
	 LOCK},
	{"threading.wait < queue.get < app._worker" THREAD, LOCK},
	{"queue.get < app.task < concurrent/futures/thread.run < "
	 "concurrent/futures/thread._worker" THREAD,
	 LOCK},
	{"concurrent/futures/thread.run < concurrent/futures/thread._worker" THREAD, SLEEP},
	{"threading.wait < concurrent/futures/_base.result < app.task < "
	 "concurrent/futures/thread.run < concurrent/futures/thread._worker" THREAD,
	 LOCK},
	{"threading.wait < concurrent/futures/_base.result" MAIN, LOCK},
	/*
	 * a task that is a C function has no Python frame, so the innermost Python frame is that of
	 * the pool's worker
	 */
	{"libc.so.6 clock_nanosleep < python3 time_sleep < multiprocessing/pool.worker" THREAD,
	 SLEEP},
	{"libc.so.6 sem_wait < python3 lock_PyThread_acquire_lock < "
	 "multiprocessing/pool.worker" THREAD,
	 LOCK},
	/*
	 * without the line of the frame of the pool's worker, krait can't know whether a task runs
	 */
	{"multiprocessing/pool.worker" THREAD, LOCK},
	{"multiprocessing/pool.worker:125@97" THREAD, LOCK}, /* a task in C runs */
	{"libc.so.6 sem_wait < _queue.so _queue_SimpleQueue_get_impl < "
	 "multiprocessing/pool.worker:125@97" THREAD,
	 LOCK},
	/* the Thread's own function is Event.wait(), so waiting is the thread's work */
	{"threading.wait:1@900 < threading.wait:2@800 < threading.run:970@960 < "
	 "threading._bootstrap_inner:990@980 < threading._bootstrap:950@940",
	 LOCK},
	{"threading.wait < threading.run" THREAD, LOCK}, /* frames without line numbers */
	{"socket.readinto < redis/connection.read < redis/client.blpop < app.consumer" MAIN, NET},
	{"socket.readinto < redis/connection.read < redis/client.get < app.task < "
	 "rq/job.perform < rq/worker/base.perform_job" MAIN,
	 NET},
	{"socket.readinto < redis/connection.read < redis/client.blpop < threading.run < "
	 "threading._bootstrap_inner < threading._bootstrap",
	 NET},
	/* folders with the same name as a package whose functions are all in the list */
	{"queue.get < /srv/redis/consumer.run < threading._bootstrap_inner < "
	 "threading._bootstrap",
	 LOCK},
	{"queue.get < /srv/my-site-packages/redis/consumer.run < threading._bootstrap_inner < "
	 "threading._bootstrap",
	 LOCK},
	{"kombu/transport/virtual/base.drain_events < kombu/connection.drain_events < "
	 "app.consumer" MAIN,
	 SLEEP},
	{"time.x < celery/app/trace.trace_task < kombu/connection.drain_events < "
	 "celery/worker/loops._loop_cycle" MAIN,
	 SLEEP},
	{"multiprocessing/popen_fork.wait < multiprocessing/process.join < app.main" MAIN, CHILD},
	{"multiprocessing/connection._send < multiprocessing/queues.put < "
	 "multiprocessing/pool.worker" MAIN,
	 PIPE},
	/* stacks whose outermost frame isn't that of a thread */
	{"concurrent/futures/thread._worker" MAIN, LOCK},
	{"concurrent/futures/thread._worker" THREAD, GIL},
	{"concurrent/futures/thread._worker" THREAD, NET},
	{"[gc] < concurrent/futures/thread._worker" THREAD, LOCK},
	{"threading.wait < app.__del__ < [gc] < concurrent/futures/thread._worker" THREAD, LOCK},
	{"socket.accept < ftplib.ntransfercmd < ftplib.retrbinary" MAIN, NET},
	{"socket.accept < app.serve" MAIN, GIL},
	{"app.do_GET < http/server.handle_one_request < socketserver.serve_forever" MAIN, SLEEP},
	{"socket.readinto < app.do_POST < http/server.handle_one_request" THREAD, NET},
	{"threading.wait < concurrent/futures/_base.wait < gunicorn/workers/gthread.run" MAIN,
	 LOCK},
	{"billiard/connection.recv < app.task < celery/app/trace.trace_task < "
	 "billiard/pool.workloop" MAIN,
	 PIPE},
	{"selectors.select < app.poll" MAIN, POLL},
	{"selectors.select" MAIN, POLL},
	{"threading.wait < threading.join" MAIN, LOCK},
	{"subprocess.wait < subprocess.call" MAIN, CHILD},
	{"threading.wait < shop/jobs.next_job_or_none" THREAD, LOCK},
	{"threading.wait < other/work.next_job" THREAD, LOCK},
	{"shop/jobs.Other.pause < shop/jobs.run" MAIN, SLEEP},
	{"app.sleep < asyncio/events._run < asyncio/base_events._run_once" MAIN, SLEEP},
	{"asyncio/events._run < asyncio/base_events._run_once" MAIN, SLEEP},
	{"asyncio/base_events._run_once" MAIN, POLL},
	{"asyncio/runners.run" MAIN, LOCK},
	{"libc.so.6 poll < libpq.so.5 pqSocketCheck < /x/uvloop/loop.so uv_run < app.run" MAIN,
	 POLL},
	{"app.callback < /x/uvloop/loop.so uv_run < asyncio/runners.run" MAIN, POLL},
	{"app.select < gevent/hub.run" MAIN, POLL},
	{"[incomplete: x]", LOCK},
	{"", LOCK},
};

static const struct known loops[] = {
	{"selectors.select < asyncio/base_events._run_once < asyncio/base_events.run_forever" MAIN,
	 POLL},
	{"[kernel] ep_poll < libc.so.6 epoll_wait < /x/uvloop/loop.cpython-312.so uv__io_poll < "
	 "/x/uvloop/loop.cpython-312.so uv_run < app.main",
	 POLL},
	{"asyncio/runners.run" MAIN, POLL},
	{"/x/gevent/libev/corecext.so ev_run < gevent/hub.run", POLL},
	{"gevent/_ffi/loop.run < gevent/hub.run", POLL},
	{"trio/_core/_io_epoll.get_events < trio/_core/_run.run" MAIN, POLL},
	{"tornado/ioloop.start" MAIN, POLL},
	{"twisted/internet/epollreactor.doPoll < twisted/internet/base.mainLoop" MAIN, POLL},
	{"eventlet/hubs/poll.do_poll < eventlet/hubs/poll.wait < eventlet/hubs/hub.run", POLL},
	{"asyncore.poll2 < asyncore.loop" MAIN, POLL},
};

static const char *const named[] = {"shop.jobs.next_job", "shop.jobs.Worker.pause"};
static const struct place_names more = {named, ARRAY_SIZE(named)};

/*
 * Makes a location. @lines is the text from the ":" on, as in struct known; NULL: the lines aren't
 * known.
 */
static uint32_t location(struct profile *p, const char *file, const char *name, const char *of,
			 const char *lines)
{
	struct profile_mapping m = {.name = profile_string(p, of), .kind = profile_kind(of)};
	struct profile_function f = {.name = profile_string(p, name),
				     .file = profile_string(p, file),
				     .start_line = lines ? atoi(strchr(lines, '@') + 1) : 0};
	struct profile_location l = {.mapping = profile_mapping(p, &m),
				     .function = profile_function(p, &f),
				     .line = lines ? atoi(lines) : 0};

	return profile_location(p, &l);
}

/* Makes a location for the frame that the @n bytes at @text describe. */
static uint32_t entry(struct profile *p, const char *text, size_t n)
{
	char module[128], file[160], *name, *lines;

	snprintf(module, sizeof(module), "%.*s", (int)n, text);
	name = strchr(module, ' ');
	if (*module == '[' || name) {
		if (name && *module != '[')
			*name++ = '\0';
		return location(p, "", name ? name : module,
				str_starts(module, "[incomplete") ? "[krait]"
				: str_starts(module, "[kernel")	  ? "[kernel]"
								  : module,
				NULL);
	}
	name = strchr(strrchr(module, '/') ? strrchr(module, '/') : module, '.');
	*name++ = '\0';
	lines = strchr(name, ':');
	if (lines)
		*lines++ = '\0';
	snprintf(file, sizeof(file), "%s%s.py",
		 *module == '/' ? "" : "/usr/lib/python3/dist-packages/", module);
	return location(p, file, name, "[python 3.12]", lines);
}

static uint32_t stack_of(struct profile *p, const char *text)
{
	uint32_t frames[32];
	size_t n = 0;

	while (*text) {
		const char *end = strstr(text, " < ");

		frames[n++] = entry(p, text, end ? (size_t)(end - text) : strlen(text));
		text = end ? end + 3 : text + strlen(text);
	}
	return profile_stack(p, frames, n);
}

static void expect(const struct known *known, size_t n, enum place place)
{
	struct profile *p = profile_new();
	struct places kept = {};

	for (size_t i = 0; i < n; i++) {
		uint32_t stack = stack_of(p, known[i].stack);

		/* looks twice, because the second result comes from a cache */
		for (int again = 0; again < 2; again++)
			if (places_look(&kept, p, stack, known[i].state, &more) != place)
				fail_msg("%s", known[i].stack);
	}
	places_forget(&kept);
	profile_free(p);
}

static void test_idle(void **state)
{
	expect(without_work, ARRAY_SIZE(without_work), PLACE_IDLE);
}

static void test_not_idle(void **state)
{
	expect(with_work, ARRAY_SIZE(with_work), PLACE_OTHER);
}

static void test_loops(void **state)
{
	expect(loops, ARRAY_SIZE(loops), PLACE_LOOP);
}

static const char *leaf_of(const char *stack)
{
	static char leaf[64];

	snprintf(leaf, sizeof(leaf), "%.*s", (int)strcspn(stack, " "), stack);
	return leaf;
}

/*
 * Pairs of stacks with the same innermost function. In each pair, only one stack is that of a
 * thread without work.
 */
static void test_leaf_is_too_little(void **state)
{
	unsigned both = 0;

	for (size_t i = 0; i < ARRAY_SIZE(without_work); i++)
		for (size_t j = 0; j < ARRAY_SIZE(with_work); j++) {
			char leaf[64];

			snprintf(leaf, sizeof(leaf), "%s", leaf_of(without_work[i].stack));
			both += streq(leaf, leaf_of(with_work[j].stack)) &&
				without_work[i].state == with_work[j].state;
		}
	assert_true(both >= 20);
}

static void test_names(void **state)
{
	assert_true(place_names_function("a.b.f", "/x/a/b.py", "f"));
	assert_true(place_names_function("a.b.f", "a/b.pyc", "C.f"));
	assert_true(place_names_function("a.b.f", "/x/a/b/__init__.py", "f"));
	assert_true(place_names_function("a.b.f", "<frozen a.b>", "f"));
	assert_true(place_names_function("a.b.f", "/lib/python311.zip/a/b.py", "g.<locals>.f"));
	assert_true(place_names_function("a.C.f", "/x/a.py", "C.f"));
	assert_true(place_names_function("a.C.f", "/x/a.py", "B.C.f"));
	/* a function's name without its class matches that function of any class */
	assert_true(place_names_function("a.C.f", "/x/a.py", "f"));
	assert_false(place_names_function("a.C.f", "/x/a.py", "D.f"));
	assert_false(place_names_function("a.C.f", "/x/a.py", "BC.f"));
	assert_false(place_names_function("a.b.f", "/x/aa/b.py", "f"));
	assert_false(place_names_function("a.b.f", "/xa/b.py", "f"));
	assert_false(place_names_function("a.b.f", "/x/b.py", "f"));
	assert_false(place_names_function("a.b.f", "", "f"));
	assert_false(place_names_function("a.b.f", "<frozen a.bc>", "f"));
	assert_false(place_names_function("a.b.f", "<string>", "f"));
	assert_false(place_names_function("f", "/x/f.py", "f"));
	assert_false(place_names_function("a.b.f", "/x/a/b.py", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),  cmocka_unit_test(test_not_idle),
		cmocka_unit_test(test_loops), cmocka_unit_test(test_leaf_is_too_little),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
