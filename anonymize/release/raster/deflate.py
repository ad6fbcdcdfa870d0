"""A zlib stream (RFC 1950, 1951) that holds its data and no more, whichever zlib wrote it.

No block is shorter than it must be, no code in it does not occur, no bit says nothing.
"""

from __future__ import annotations

import zlib

from anonymize.release.reasons import ContainerError

HEAD = b"\x78\x9c"  # the usual window and level
ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
LENGTH_BITS = (*[0] * 8, *[1] * 4, *[2] * 4, *[3] * 4, *[4] * 4, *[5] * 4, 0)
DISTANCE_BITS = tuple(max(0, i // 2 - 1) for i in range(30))
FIXED = ([8] * 144 + [9] * 112 + [7] * 24 + [8] * 8, [5] * 30)
SHORTEST = 1 << 12  # symbols, or stored bytes, of a block that others follow
BLOCK_END, FEW = 256, 2  # codes that a writer gives even where fewer occur


def check(stream: bytes, plain: bytes) -> None:
    """Raises ContainerError unless ``stream`` unpacks to ``plain`` and has no room for more."""
    unpacking = zlib.decompressobj()
    try:
        same = unpacking.decompress(stream, len(plain) + 1) == plain and unpacking.eof
    except zlib.error:
        same = False
    if not same or stream[:2] != HEAD:
        raise ContainerError("a compressed stream of other data")
    bits = _Bits(stream[2:-4])
    last = 0
    while not last:
        last, kind = bits.take(1), bits.take(2)
        size = _stored(bits) if kind == 0 else _coded(bits, fixed=kind == 1)
        if size < SHORTEST and not last:
            raise _excess()
    if bits.rest():
        raise _excess()


class _Bits:
    """Bits from the low end of each byte."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.held, self.count = data, 0, 0, 0

    def fill(self) -> None:
        new = self.data[self.at : self.at + 8]
        self.held |= int.from_bytes(new, "little") << self.count
        self.at += len(new)
        self.count += 8 * len(new)

    def take(self, count: int) -> int:
        if self.count < count:
            self.fill()
        value = self.held & ((1 << count) - 1)
        self.held >>= count
        self.count -= count
        return value

    def rest(self) -> int:
        """What is left, 0 for nothing but the zeros that fill a byte."""
        return self.held | (len(self.data) - self.at) | (self.count > 7)


def _excess() -> ContainerError:
    return ContainerError("a compressed stream with more than its data")


def _stored(bits: _Bits) -> int:
    if bits.take(bits.count % 8):
        raise _excess()
    size = bits.take(16)
    bits.take(16)
    skipped = min(size, bits.count // 8)
    bits.take(8 * skipped)
    bits.at += size - skipped
    return size


def _coded(bits: _Bits, *, fixed: bool) -> int:
    """Walks a block; how many symbols it has."""
    lengths, distances = FIXED if fixed else _tables(bits)
    codes, ways = _lookup(lengths), _lookup(distances)
    used, used_ways = set(), set()
    symbols = 0
    while True:
        symbol = _symbol(bits, codes)
        used.add(symbol)
        if symbol == BLOCK_END:
            break
        symbols += 1
        if symbol > BLOCK_END:
            bits.take(LENGTH_BITS[symbol - 257])
            way = _symbol(bits, ways)
            used_ways.add(way)
            bits.take(DISTANCE_BITS[way])
    if not fixed:
        _check_used(lengths, used)
        _check_used(distances, used_ways)
    return symbols


def _tables(bits: _Bits) -> tuple[list[int], list[int]]:
    literals, distances, count = bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4
    lengths = [0] * 19
    for place in ORDER[:count]:
        lengths[place] = bits.take(3)
    codes, used = _lookup(lengths), set()
    made: list[int] = []
    while len(made) < literals + distances:
        symbol = _symbol(bits, codes)
        used.add(symbol)
        if symbol < 16:
            made.append(symbol)
        elif symbol == 16:
            made += made[-1:] * (3 + bits.take(2))
        else:
            made += [0] * (3 + bits.take(3) if symbol == 17 else 11 + bits.take(7))
    _check_used(lengths, used)
    ends = (literals > 257 and not made[literals - 1]) or (distances > 1 and not made[-1])
    if ends or (count > 4 and not lengths[ORDER[count - 1]]):
        raise _excess()
    return made[:literals], made[literals:]


def _check_used(lengths: list[int], used: set[int]) -> None:
    given = {symbol for symbol, length in enumerate(lengths) if length}
    if len(given) > FEW and given != used:
        raise _excess()


def _lookup(lengths: list[int]) -> tuple[int, list[int]]:
    """The longest code, and for so many bits the symbol << 4 | bits of the code in them."""
    longest = max(lengths, default=0)
    entries, code = [0] * (1 << longest), 0
    for length in range(1, longest + 1):
        for symbol, own in enumerate(lengths):
            if own == length:
                turned = int(f"{code:0{length}b}"[::-1], 2)
                step = 1 << length
                entries[turned::step] = [symbol << 4 | length] * (len(entries) >> length)
                code += 1
        code <<= 1
    return longest, entries


def _symbol(bits: _Bits, lookup: tuple[int, list[int]]) -> int:
    longest, entries = lookup
    if bits.count < longest:
        bits.fill()
    entry = entries[bits.held & ((1 << longest) - 1)]
    bits.held >>= entry & 15
    bits.count -= entry & 15
    return entry >> 4
