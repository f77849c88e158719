# SPDX-License-Identifier: BSD-2-Clause
import threading, time
def work(n):
    end = time.time() + 4
    while time.time() < end:
        sum(i * i for i in range(1000))
ts = [threading.Thread(target=work, args=(1,), name="worker-%d" % i) for i in range(4)]
[t.start() for t in ts]; [t.join() for t in ts]
