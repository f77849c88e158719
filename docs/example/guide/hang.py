# SPDX-License-Identifier: BSD-2-Clause
import threading, time
accounts, audit = threading.Lock(), threading.Lock()
def transfer():
    with accounts:
        time.sleep(0.1)
        with audit:
            pass
def report():
    with audit:
        time.sleep(0.1)
        with accounts:
            pass
threads = [threading.Thread(target=transfer, name="transfer"), threading.Thread(target=report, name="report")]
for t in threads: t.start()
for t in threads: t.join()
