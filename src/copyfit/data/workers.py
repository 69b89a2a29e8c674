"""Encode blocks in worker processes; what comes out does not depend on their number."""

import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context

from copyfit.data.corpus import Block
from copyfit.data.encode import EncodedBlock, Encoder
from copyfit.environment import cores

_FEW_BLOCKS = 4
"""So few blocks are encoded sooner than processes start."""
_encoder: Encoder


def encode_blocks(blocks: Iterable[Block], encoder: Encoder, *, workers: int) -> Iterator[EncodedBlock]:
    """Encode blocks in their order by so many processes, 0 for one a core; few are held at a time."""
    workers = workers or cores()
    remaining = iter(blocks)
    first = list(islice(remaining, _FEW_BLOCKS))
    numbered = enumerate(chain(first, remaining))
    if workers == 1 or len(first) < _FEW_BLOCKS:
        return (encoder(number, block) for number, block in numbered)
    return _in_order(numbered, encoder, workers)


def _in_order(
    numbered: Iterator[tuple[int, Block]], encoder: Encoder, workers: int
) -> Iterator[EncodedBlock]:
    # Training tokenizers started threads, which a fork would not survive.
    context = get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(encoder,))
    waiting: deque[Future[EncodedBlock]] = deque()
    try:
        for number, block in numbered:
            waiting.append(pool.submit(_encode, number, block))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _start(encoder: Encoder) -> None:
    global _encoder
    # The parent stops its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _encoder = encoder


def _encode(number: int, block: Block) -> EncodedBlock:
    return _encoder(number, block)
