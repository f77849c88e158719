# SPDX-License-Identifier: BSD-2-Clause
# storm: children come and go
# contract: what the standard library runs at a fork
# no python: processes that begin and end
# incomplete: 0.6% a page that is being copied is nowhere for a moment (mm/memory.c, wp_page_copy)
"""Fork storms: each child works for some milliseconds in functions of its own, and may fork too."""
import os

import rig


def child_0():
    for _ in range(30):
        deeper_0(300)


def deeper_0(n):
    return rig.spin(n)


def child_1():
    for _ in range(30):
        rig.spin(
            400)


def child_2():
    grandchild = rig.fork()
    if grandchild == 0:
        grand(20)
        rig.leave()
    rig.spin(3000)
    reap(grandchild)


def grand(n):
    for _ in range(n):
        rig.spin(300)


def reap(pid):
    if not rig.tracing:
        os.waitpid(pid, 0)


def spawn(work):
    pid = rig.fork()
    if pid == 0:
        work()
        rig.leave()
    return pid


def round_():
    pids = [spawn(child_0), spawn(child_1)]
    pids.append(
        spawn(child_2))
    rig.spin(1000)
    for pid in pids:
        reap(pid)


if __name__ == "__main__":
    for _ in range(2 if rig.tracing else 0):
        round_()
    rig.run(round_)
