# SPDX-License-Identifier: BSD-2-Clause
"""echo.py threads HOPS|asyncio [IDLE]: an echo server that prints its port. With "threads", it has
a thread for each connection; each line passes HOPS times through a second thread, as through a
pool's queue. IDLE: the number of further threads, which wait for ever."""

import asyncio
import contextlib
import queue
import socket
import sys
import threading

LINE = 64


def serve_hops(come, go):
    while True:
        go.put(come.get())


def echo(s, hops):
    there, back = queue.SimpleQueue(), queue.SimpleQueue()
    if hops:
        begin(serve_hops, there, back)
    with contextlib.suppress(ConnectionError):
        while data := s.recv(LINE):
            for _ in range(hops):
                there.put(data)
                data = back.get()
            s.sendall(data.upper())


def begin(work, *arguments):
    threading.Thread(target=work, args=arguments, daemon=True).start()


def threads(hops):
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    while True:
        s, _ = listening.accept()
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        begin(echo, s, hops)


class Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(data.upper())


async def coroutines():
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def idle(n):
    lock = threading.Lock()
    lock.acquire()
    for _ in range(n):
        begin(lock.acquire)


def main():
    kind, *numbers = sys.argv[1:]
    numbers = [int(n) for n in numbers] + [0, 0]
    if kind == "threads":
        idle(numbers[1])
        threads(numbers[0])
    idle(numbers[0])
    asyncio.run(coroutines())


main()
