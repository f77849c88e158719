# SPDX-License-Identifier: BSD-2-Clause
"""pair.py FRAMES: two processes that hand a byte to and fro through pipes, each with this many
Python frames. pair.py FRAMES threads: two threads of one process, which need the GIL as well. It
prints its process id when it is ready."""

import os
import sys
import threading

FRAMES = int(sys.argv[1])


def depth():
    frame, n = sys._getframe(), 0
    while frame:
        frame, n = frame.f_back, n + 1
    return n


def step(n, leaf, *arguments):
    if n > 0:
        return step(n - 1, leaf, *arguments)
    return leaf(*arguments)


def at_depth(leaf, *arguments):
    # The stack has frames of depth() itself and of this function; leaf() and the last step() add
    # two more.
    step(FRAMES - (depth() - 1) - 2, leaf, *arguments)


def hand_over(come, go):
    while os.read(come, 1):
        try:
            os.write(go, b"x")
        except BrokenPipeError:  # the other process has ended
            return


def main():
    (there, there_in), (back, back_in) = os.pipe(), os.pipe()
    if "threads" in sys.argv:
        threading.Thread(target=at_depth, args=(hand_over, there, back_in), daemon=True).start()
    elif not os.fork():
        os.close(there_in)  # only the other process writes to this end
        os.close(back)
        at_depth(hand_over, there, back_in)
        return
    print(os.getpid(), flush=True)
    os.write(there_in, b"x")
    at_depth(hand_over, back, there_in)


main()
