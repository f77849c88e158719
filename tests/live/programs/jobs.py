# SPDX-License-Identifier: BSD-2-Clause
"""Tasks for the task queues Celery, RQ, Dramatiq and huey."""
import os

import mark
import web

QUEUE = os.environ.get("QUEUE", "")  # which of them


def wait_for(what):
    mark.waits()
    web.PAGES["/" + what]()


def quick():
    return 1


if QUEUE == "celery":
    import celery

    app = celery.Celery("jobs", broker=os.environ["BROKER"])
    folder = os.environ["TRUTH"] + "/broker"
    if os.environ["BROKER"].startswith("filesystem"):
        os.makedirs(folder, exist_ok=True)
        app.conf.update(broker_transport_options={"data_folder_in": folder, "data_folder_out": folder,
                                                  "control_folder": folder + "/control"})
        app.conf.result_backend = "file://" + folder
    else:
        app.conf.result_backend = os.environ["BROKER"]
    app.conf.task_default_queue = os.environ["NAME"]
    app.conf.beat_schedule = {"quick": {"task": "jobs.celery_quick", "schedule": 500.0}}
    app.conf.beat_schedule_filename = os.environ["TRUTH"] + "/schedule"
    celery_quick = app.task(name="jobs.celery_quick")(quick)
    celery_wait = app.task(name="jobs.celery_wait")(wait_for)
if QUEUE == "dramatiq":
    import dramatiq
    from dramatiq.brokers.redis import RedisBroker

    dramatiq.set_broker(RedisBroker(url=mark.REDIS, namespace=os.environ["NAME"]))
    dramatiq_quick = dramatiq.actor(actor_name="quick")(quick)
    dramatiq_wait = dramatiq.actor(actor_name="wait")(wait_for)
if QUEUE == "huey":
    from huey import RedisHuey, SqliteHuey

    if os.environ["BROKER"] == "redis":
        huey = RedisHuey(os.environ["NAME"], url=mark.REDIS)
    else:
        huey = SqliteHuey(filename=os.environ["TRUTH"] + "/huey.db")
    huey_quick = huey.task(name="quick")(quick)
    huey_wait = huey.task(name="wait")(wait_for)


def order(what):
    """Gives a worker the task @what: "quick", or the name of a function that waits."""
    if QUEUE == "celery":
        celery_quick.delay() if what == "quick" else celery_wait.delay(what)
    elif QUEUE == "rq":
        import redis
        import rq

        target = rq.Queue(os.environ["NAME"], connection=redis.Redis.from_url(mark.REDIS))
        target.enqueue(*(("jobs.quick",) if what == "quick" else ("jobs.wait_for", what)))
    elif QUEUE == "dramatiq":
        dramatiq_quick.send() if what == "quick" else dramatiq_wait.send(what)
    elif QUEUE == "huey":
        huey_quick() if what == "quick" else huey_wait(what)
