# SPDX-License-Identifier: BSD-2-Clause
# needs: 3.7
# contract: asyncio's own frames differ from turn to turn
"""asyncio: tasks, gather, queues, executors' callbacks; the stack of one task only."""
import asyncio

import rig


async def worker_leaf(n):
    rig.spin(200)
    await asyncio.sleep(0)
    rig.spin(200)
    return n


async def producer(queue, n):
    for i in range(n):
        await queue.put(await worker_leaf(i))
    await queue.put(None)


async def consumer(queue):
    while True:
        item = await queue.get()
        if item is None:
            return rig.spin(100)
        consume(item)


def consume(item):
    return rig.spin(300)


def called_soon(future):
    rig.spin(300)
    future.set_result(1)


async def timers():
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_soon(called_soon, future)
    return await future


async def everything():
    queue = asyncio.Queue(3)
    await asyncio.gather(producer(queue, 10), consumer(queue), timers(), worker_leaf(1))


def round_():
    for _ in range(5):
        asyncio.run(everything())


if __name__ == "__main__":
    rig.run(round_)
