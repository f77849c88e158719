# SPDX-License-Identifier: BSD-2-Clause
"""The profiled program. It knows what a profiler must find, and prints it as a Python literal: for
each call chain the frames, with the line of the call and all lines of the function, and the CPU
time that the chain measured itself. The two chains have the same depth and share no frame but
the module's, so even one frame of the wrong chain is noticed. The program imports only what is
built in, because in the test machine every module would have to be compiled first."""
import sys
import time

SECONDS = 3.0
TRUTH = {}


def frames(frame):
    """Returns a frame and its callers, root first, as the interpreter itself has them: for each
    (name, file, the line being executed, all lines of the function)."""
    chain = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        chain.append([name, code.co_filename, frame.f_lineno, lines_of(code)])
        frame = frame.f_back
    return chain[::-1]


def lines_of(code):
    """Returns every line that instructions of the function have."""
    if hasattr(code, "co_lines"):  # code objects have co_lines() since 3.10
        return sorted({line for _, _, line in code.co_lines() if line})
    table, line, lines = code.co_lnotab, code.co_firstlineno, {code.co_firstlineno}
    for delta in table[1::2]:
        line += delta - 256 if delta > 127 else delta
        lines.add(line)
    return sorted(lines)


def note(which):
    """Remembers the caller's chain of callers. Each innermost function calls this once."""
    TRUTH[which] = {"chain": frames(sys._getframe(1)), "cpu": 0.0}


def alpha_leaf(first, end):
    if first:
        note("alpha")
    total = 0
    while time.thread_time() < end:
        for i in range(2000):
            total += i * i
    return total


class Alpha:
    def middle(self, first, end):
        return alpha_leaf(
            first,
            end)

    def outer(self, first, end):
        return self.middle(first, end)


def beta_leaf(first, end):
    if first:
        note("beta")
    total = 0
    while time.thread_time() < end:
        for i in range(1000):
            total ^= i
            total += 3
    return total


def beta_middle(first, end):
    yield beta_leaf(first, end)


def beta_outer(first, end):
    # The loop runs to its end, as returning earlier would close the generator on another line.
    for value in beta_middle(first, end):
        last = value
    return last


def turn(which, function, first, seconds):
    start = time.thread_time()
    function(first, start + seconds)
    TRUTH[which]["cpu"] += time.thread_time() - start


first = True
begin = time.thread_time()
while time.thread_time() - begin < SECONDS:
    turn("alpha", Alpha().outer, first, 0.04)
    turn("beta", beta_outer, first, 0.02)
    first = False
print(TRUTH)
