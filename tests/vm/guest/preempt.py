# SPDX-License-Identifier: BSD-2-Clause
"""preempt.py SECONDS SHARES UNCHECKED: runs threads on one CPU that call the kernel all the time,
each at the end of its own chain of functions. The programs of preempt.bpf.c take samples in these
calls. The sleepers have a real-time priority, so they run as soon as they wake, in the middle of
another thread's sample. Prints two lines: a Python literal of each thread's chain (name, lines that
may be shown) and how many calls it made while the programs were attached, and what the programs
counted. It imports only built-in modules."""
import _thread
import os
import sys

READERS, SLEEPERS, DEEP = 2, 2, 40
SECONDS, ARGUMENTS = float(sys.argv[1]), sys.argv[2:]
LEAF = """\
def {name}(me, gate):
    import posix, time
    zero = posix.open("/dev/zero", 0)
    me["tid"] = _thread.get_native_id()
    {start}
    while not me["stop"]:
        if me["pause"]:
            me["rests"] = True
            gate.acquire()
            gate.release()
            me["rests"] = False
            continue
        {call}
        me["calls"] += 1
"""
KINDS = {
    "read": ("posix.pread(zero, 1, 0)", "pass"),
    "sleep": ("time.sleep(0.002)", "posix.sched_setscheduler(0, posix.SCHED_FIFO, posix.sched_param(10))"),
}


def chain_of(kind, number):
    """Makes a chain of functions, each of which calls the next one on its second line. Returns (the
    outermost function, the chain)."""
    names = ["%s%d_%d" % (kind, number, depth) for depth in range(DEEP)]
    call, start = KINDS[kind]
    text, chain, line = "", [], 1
    for name, inner in zip(names, names[1:]):
        text += "def %s(me, gate):\n    %s(me, gate)\n" % (name, inner)
        chain.append((name, [line + 1]))
        line += 2
    leaf = LEAF.format(name=names[-1], start=start, call=call)
    chain.append((names[-1], list(range(line, line + leaf.count("\n")))))
    space = {"_thread": _thread}
    exec(compile(text + leaf, "/t/%s%d.py" % (kind, number), "exec"), space)
    return space[names[0]], chain


def wait_until(done, gate):
    while not done():
        # waits on a futex, because the main thread may call neither of the two kernel functions
        gate.acquire(timeout=0.02)


def attach():
    """Attaches the programs. Returns two descriptors: closing the first one detaches the programs,
    and then their counts can be read from the second one."""
    stdin, end = os.pipe()
    output, stdout = os.pipe()
    os.set_inheritable(stdin, True)
    os.set_inheritable(stdout, True)
    pid = os.posix_spawn("/t/preempt.bin", ["/t/preempt.bin"] + ARGUMENTS, os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1)])
    os.close(stdin)
    os.close(stdout)
    if os.waitpid(pid, 0)[1]:
        sys.exit("preempt attached nothing")
    return end, output


def main():
    os.sched_setaffinity(0, {1})
    gate, timer, threads = _thread.allocate_lock(), _thread.allocate_lock(), []
    gate.acquire()
    timer.acquire()
    for kind, n in (("read", READERS), ("sleep", SLEEPERS)):
        for number in range(n):
            function, chain = chain_of(kind, number)
            me = {"pause": False, "stop": False, "rests": False, "calls": 0, "tid": 0, "kind": kind, "chain": chain}
            threads.append(me)
            _thread.start_new_thread(function, (me, gate))
    # The threads run for a while, so that krait knows the process and its threads.
    wait_until(lambda: all(me["calls"] > 20 for me in threads), timer)
    timer.acquire(timeout=3)
    rest(threads, timer)
    end, output = attach()
    for me in threads:
        me["calls"] = 0
    resume(threads, gate, timer)
    timer.acquire(timeout=SECONDS)
    rest(threads, timer)
    os.close(end)
    counted = os.read(output, 4096).decode()
    for me in threads:
        me["stop"] = True
    gate.release()
    timer.acquire(timeout=0.5)
    print({me["tid"]: (me["kind"], me["calls"], me["chain"]) for me in threads})
    print(counted, end="")


def rest(threads, timer):
    for me in threads:
        me["pause"] = True
    wait_until(lambda: all(me["rests"] for me in threads), timer)


def resume(threads, gate, timer):
    for me in threads:
        me["pause"] = False
    gate.release()
    wait_until(lambda: not any(me["rests"] for me in threads), timer)
    gate.acquire()


main()
