"""Many clients of one service, in a process of their own: `python -m benchmarks.asking`."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import count
from random import Random
from typing import Any, NamedTuple

PATIENCE = 120.0


class Asked(NamedTuple):
    status: int
    seconds: float


async def ask(port: int, body: bytes) -> Asked:
    """Send one request over a connection of its own, as a client behind a balancer would."""
    started = time.perf_counter()
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = (
            "POST /v1/headlines HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.read()
        writer.close()
    return Asked(int(answer.split(b" ", 2)[1]), time.perf_counter() - started)


async def in_turn(port: int, bodies: list[bytes], *, clients: int, total: int) -> list[Asked]:
    """Let so many clients ask, each again as soon as it is answered."""
    numbers = count()
    answers: list[Asked] = []

    async def client() -> None:
        while (number := next(numbers)) < total:
            answers.append(await ask(port, bodies[number % len(bodies)]))

    await asyncio.gather(*(client() for _ in range(clients)))
    return answers


async def at_a_rate(port: int, bodies: list[bytes], *, rate: float, seconds: float) -> list[Asked]:
    """Ask so many times a second whatever the answers are, at random moments."""
    draw = Random(1)
    tasks: list[Awaitable[Asked]] = []
    started = due = time.perf_counter()
    while due < started + seconds:
        due += draw.expovariate(rate)
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        tasks.append(asyncio.create_task(ask(port, bodies[len(tasks) % len(bodies)])))
    return list(await asyncio.gather(*tasks))


KINDS: dict[str, Callable[..., Awaitable[list[Asked]]]] = {"in-turn": in_turn, "at-a-rate": at_a_rate}


async def answered(kind: str, port: int, bodies: list[bytes], how: dict[str, Any]) -> list[Asked]:
    return await KINDS[kind](port, bodies, **how)


def main() -> None:
    """Read what to ask from standard input; write how it went to standard output."""
    order: dict[str, Any] = json.load(sys.stdin)
    bodies = [json.dumps(body).encode() for body in order["bodies"]]
    started = time.perf_counter()
    answers = asyncio.run(answered(order["kind"], order["port"], bodies, order["how"]))
    json.dump({"seconds": time.perf_counter() - started, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
