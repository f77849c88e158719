# SPDX-License-Identifier: BSD-2-Clause
# contract: threading.py waits in functions that differ from time to time
# no python: threads that begin and end
"""Threads that fight for the GIL; each has functions that no other calls."""
import threading

import rig


def p_1(n):
    return p_2(n) + 1


def p_2(n):
    return rig.spin(
        n)


def q_1(n):
    total = 0
    for _ in range(3):
        total += q_2(n)
    return total


def q_2(n):
    return sum([i for i in range(n)])


def r_1(n):
    if n > 0:
        return r_1(n - 1)
    return rig.spin(100)


class S(object):
    def s_1(self, n):
        return self.s_2(n)

    def s_2(self, n):
        return rig.spin(n)


def thread_p():
    for _ in range(60):
        p_1(300)


def thread_q():
    for _ in range(60):
        q_1(200)


def thread_r():
    for _ in range(60):
        r_1(20)


class Thread(threading.Thread):
    def run(self):
        s = S()
        for _ in range(60):
            s.s_1(400)


def many(n):
    """Threads that come and go."""
    threads = [threading.Thread(target=rig.spin, args=(2000,)) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main_work():
    for _ in range(30):
        rig.spin(500)


def round_():
    threads = [threading.Thread(target=f, name=f.__name__) for f in (thread_p, thread_q, thread_r)]
    threads.append(Thread(name="thread-s"))
    for thread in threads:
        thread.start()
    main_work()
    for thread in threads:
        thread.join()
    many(5)


if __name__ == "__main__":
    rig.run(round_)
