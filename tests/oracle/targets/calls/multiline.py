# SPDX-License-Identifier: BSD-2-Clause
"""Calls over several lines, several calls on a line, comprehensions of every kind."""
import rig


def f(*args, **kw):
    return rig.spin(8)


def g(*args, **kw):
    return rig.spin(6)


def h(x):
    return x + 1


class Chain(object):
    def one(self, x):
        f(x)
        return self

    def two(
            self,
            x):
        g(
            x
        )
        return self

    def three(self, x=h(
            1)): return (
                self)


def calls(n):
    f(g(h(n)),
      g(
          h(
              n),
          key=g(n)),
      *[h(n),
        g(n)])
    value = (f(n) +
             g(n)
             + h(
                 n) *
             f(
                 1
             ))
    value = f(n) if g(n) else h(n)
    value = [f(n),
             g(n),
             (h(n),
              f(n))]
    return {"f": f(n),
            "g": g(
                n),
            "h": value}


def chained(n):
    return (Chain()
            .one(h(n))
            .two(n)
            .three()
            .one(
                g(n))
            .two(f(n)))


def comprehensions(n):
    a = [f(i) for i in range(n)]
    b = {g(i)
         for i in range(n)
         if h(i)}
    c = dict((i, f(i)) for i in range(n))
    d = {i: g(i) for i in range(
        h(n))}
    e = [[f(i) +
          g(j)
          for j in range(2)]
         for i in range(n)
         if [h(k) for k in range(2)]]
    return sum(
        h(x)
        for x in (
            g(y) for y in range(n)
        )
    ) + len(a) + len(b) + len(c) + len(d) + len(e)


def conditions(n):
    if (f(n) and
            g(n) and
            not h(-1)):
        while (h(n) <
               g(n) - 100):
            pass
    assert f(n) >= 0, g(n)
    return (lambda x:
            g(x) +
            h(x))(f(n))


def raises(n):
    try:
        try:
            h(
                "x")
        except TypeError:
            f(n)
            raise ValueError(
                g(n))
        finally:
            h(
                n)
    except ValueError as error:
        return f(error)


def round_():
    for _ in range(60):
        calls(3)
        chained(2)
        comprehensions(4)
        conditions(5)
        raises(1)


if __name__ == "__main__":
    rig.run(round_)
