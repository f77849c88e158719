# SPDX-License-Identifier: BSD-2-Clause
# incomplete: 0.3% 3.11-3.11 a _PyCFrame is published before it says where it was called from
# needs: 3.6
"""Coroutines, yield from, async generators, async for, async with, async comprehensions."""
import rig


class Suspend:
    def __await__(self):
        yield 1


class Manager:
    async def __aenter__(self):
        await Suspend()
        return self

    async def __aexit__(self, *args):
        rig.spin(20)
        await leaf(5)


class Items:
    def __init__(self, n):
        self.n = n

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.n == 0:
            raise StopAsyncIteration
        self.n -= 1
        await Suspend()
        return self.n


async def leaf(n):
    total = rig.spin(n)
    await Suspend()
    total += rig.spin(n)
    return total


async def middle(n):
    return (await leaf(n)
            +
            await leaf(n + 1))


async def chain(depth):
    if depth:
        return await chain(depth - 1)
    return await middle(20)


async def agen(n):
    for i in range(n):
        rig.spin(5)
        yield i
        await leaf(3)


async def loops(n):
    total = 0
    async for x in agen(n):
        total += x
    async for x in Items(n):
        total += x
    async with Manager() as manager:
        total += await leaf(10)
    values = [x async for x in agen(n)]
    values += [await leaf(x) for x in range(3)]
    pairs = {x: y async for x in agen(3) for y in range(2)}
    return total + len(values) + len(pairs)


def inner_gen(n):
    for i in range(n):
        yield rig.spin(10)
    return n


def outer_gen(n):
    a = yield from inner_gen(n)
    b = yield from inner_gen(
        n)
    return a + b


def delegate(n):
    result = yield from outer_gen(n)
    yield result


def drive(coro):
    """A small event loop."""
    steps = 0
    while True:
        try:
            coro.send(None)
        except StopIteration:
            return steps
        steps += 1


def two_at_once(n):
    tasks = [chain(n), loops(4), middle(30)]
    while tasks:
        for task in list(tasks):
            try:
                task.send(None)
            except StopIteration:
                tasks.remove(task)


def round_():
    for _ in range(20):
        drive(chain(10))
        drive(loops(6))
        two_at_once(5)
        for _ in delegate(20):
            pass


if __name__ == "__main__":
    rig.run(round_)
