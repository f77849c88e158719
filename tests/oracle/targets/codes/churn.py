# SPDX-License-Identifier: BSD-2-Clause
"""Code objects that come and go at one address: a sample with a name or a line of the earlier code
object is wrong.

Each variant is run by a driver of its own, which lives as long as the program, so that a stack
that shows driver 17 above the code of variant 16 is wrong."""
import gc
import marshal

import rig

N = 40
FILE = "/krait-oracle/churn-%d.py"
rig.own("/krait-oracle/")


def body(name, gap):
    """A function whose lines depend on gap but whose instructions don't."""
    return ("def %s(n):\n"
            "    total = 0\n%s"
            "    for i in range(n):\n%s"
            "        total += i & 3\n"
            "    return total\n"
            "%s(600)\n") % (name, "\n" * gap, "\n" * (gap // 2), name)


def other_names(i):
    return compile(body("name_%02d" % i, 0), FILE % 0, "exec")


def other_lines(i):
    return compile(body("same", i), FILE % 1, "exec")


def other_files(i):
    return compile(body("same", 0), FILE % (100 + i), "exec")


def other_first(i):
    return compile("\n" * i + body("same", 0), FILE % 2, "exec")


MARSHALLED = [[marshal.dumps(kind(i)) for i in range(N)]
              for kind in (other_names, other_lines, other_files, other_first)]


def compiled(kind, i):
    exec((other_names, other_lines, other_files, other_first)[kind](i), {})


def loaded(kind, i):
    exec(marshal.loads(MARSHALLED[kind][i]), {})


def alternate(kind, i):
    """Code objects of two sources take turns at one address."""
    for j in range(3):
        exec(marshal.loads(MARSHALLED[kind][i]), {})
        between(kind, i)


def between(kind, i):
    exec(marshal.loads(MARSHALLED[kind][(i + 1) % N]), {})


def made_lambda(i):
    f = eval("lambda n: [rig_spin(n) for _ in 'xx'][0] + %d" % i, {"rig_spin": rig.spin})
    return f(100)


DRIVER = """
def drive_%(k)d_%(i)d():
    compiled(%(k)d, %(i)d)
    loaded(%(k)d, %(i)d)
    alternate(%(k)d, %(i)d)
drivers.append(drive_%(k)d_%(i)d)
"""
drivers = []
exec(compile("".join(DRIVER % {"k": k, "i": i} for i in range(N) for k in range(4)),
             "/krait-oracle/drivers.py", "exec"),
     {"compiled": compiled, "loaded": loaded, "alternate": alternate, "drivers": drivers})


def round_():
    for driver in drivers:
        driver()
    for i in range(N):
        made_lambda(i)
    if rig.tracing is None:
        gc.collect(0)


if __name__ == "__main__":
    rig.run(round_)
