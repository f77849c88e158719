# SPDX-License-Identifier: BSD-2-Clause
"""The tasks of a celery worker. `python jobs.py` puts tasks into the queue and keeps the queue
filled."""
import os
import time

from celery import Celery
from measured import measured

import helpers

FOLDER = os.environ["QUEUE"]
app = Celery("jobs", broker="filesystem://")
app.conf.broker_transport_options = {"data_folder_in": FOLDER, "data_folder_out": FOLDER, "control_folder": FOLDER,
                                     "polling_interval": 0.05}
app.conf.task_ignore_result = True


@app.task
def report(rows):
    with measured:
        helpers.step()
    return len(rows)


if __name__ == "__main__":
    import jobs

    # The files are written under another name first, because otherwise a worker could read them
    # before they are complete.
    OUT = FOLDER + ".new"
    os.makedirs(OUT)
    jobs.app.conf.broker_transport_options["data_folder_out"] = OUT
    while True:
        while len(os.listdir(FOLDER)) < 40:
            jobs.report.delay(list(range(50)))
            for name in os.listdir(OUT):
                os.rename(OUT + "/" + name, FOLDER + "/" + name)
        time.sleep(0.02)
