"""A fingerprint of bytes that never changes: FarmHash's Fingerprint64, which TensorFlow chooses buckets with."""

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_ALL = (1 << 64) - 1


def fingerprint(data: bytes) -> int:
    """The 64 bits of some bytes.

    >>> fingerprint(b"emerson") % 1000000007
    80051842
    """
    size = len(data)
    if size <= 16:
        return _up_to_16(data, size)
    if size <= 32:
        return _up_to_32(data, size)
    return _up_to_64(data, size) if size <= 64 else _longer(data, size)


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _half(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _turned(value: int, by: int) -> int:
    return ((value >> by) | (value << (64 - by))) & _ALL if by else value


def _mixed(value: int) -> int:
    return value ^ (value >> 47)


def _pair(first: int, second: int, factor: int) -> int:
    a = ((first ^ second) * factor) & _ALL
    a ^= a >> 47
    b = ((second ^ a) * factor) & _ALL
    b ^= b >> 47
    return (b * factor) & _ALL


def _up_to_16(data: bytes, size: int) -> int:
    factor = _K2 + size * 2
    if size >= 8:
        a, b = (_word(data, 0) + _K2) & _ALL, _word(data, size - 8)
        return _pair((_turned(b, 37) * factor + a) & _ALL, ((_turned(a, 25) + b) * factor) & _ALL, factor)
    if size >= 4:
        return _pair((size + (_half(data, 0) << 3)) & _ALL, _half(data, size - 4), factor)
    if size == 0:
        return _K2
    first, last = data[0] + (data[size >> 1] << 8), size + (data[size - 1] << 2)
    return (_mixed((first * _K2 ^ last * _K0) & _ALL) * _K2) & _ALL


def _up_to_32(data: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = (_word(data, 0) * _K1) & _ALL, _word(data, 8)
    c, d = (_word(data, size - 8) * factor) & _ALL, (_word(data, size - 16) * _K2) & _ALL
    return _pair(
        (_turned((a + b) & _ALL, 43) + _turned(c, 30) + d) & _ALL,
        (a + _turned((b + _K2) & _ALL, 18) + c) & _ALL,
        factor,
    )


def _up_to_64(data: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = (_word(data, 0) * _K2) & _ALL, _word(data, 8)
    c, d = (_word(data, size - 8) * factor) & _ALL, (_word(data, size - 16) * _K2) & _ALL
    y = (_turned((a + b) & _ALL, 43) + _turned(c, 30) + d) & _ALL
    z = _pair(y, (a + _turned((b + _K2) & _ALL, 18) + c) & _ALL, factor)
    e, f = (_word(data, 16) * factor) & _ALL, _word(data, 24)
    g, h = ((y + _word(data, size - 32)) * factor) & _ALL, ((z + _word(data, size - 24)) * factor) & _ALL
    return _pair(
        (_turned((e + f) & _ALL, 43) + _turned(g, 30) + h) & _ALL,
        (e + _turned((f + a) & _ALL, 18) + g) & _ALL,
        factor,
    )


def _longer(data: bytes, size: int) -> int:
    x, y = 81, (81 * _K1 + 113) & _ALL
    z = (_mixed((y * _K2 + 113) & _ALL) * _K2) & _ALL
    v, w = (0, 0), (0, 0)
    x = (x * _K2 + _word(data, 0)) & _ALL
    end = ((size - 1) // 64) * 64
    for at in range(0, end, 64):
        x = (_turned((x + y + v[0] + _word(data, at + 8)) & _ALL, 37) * _K1) & _ALL
        y = (_turned((y + v[1] + _word(data, at + 48)) & _ALL, 42) * _K1) & _ALL
        x ^= w[1]
        y = (y + v[0] + _word(data, at + 40)) & _ALL
        z = (_turned((z + w[0]) & _ALL, 33) * _K1) & _ALL
        v = _weak(data, at, (v[1] * _K1) & _ALL, (x + w[0]) & _ALL)
        w = _weak(data, at + 32, (z + w[1]) & _ALL, (y + _word(data, at + 16)) & _ALL)
        x, z = z, x
    factor, at = (_K1 + ((z & 0xFF) << 1)) & _ALL, size - 64
    w = ((w[0] + ((size - 1) & 63)) & _ALL, w[1])
    v = ((v[0] + w[0]) & _ALL, v[1])
    w = ((w[0] + v[0]) & _ALL, w[1])
    x = (_turned((x + y + v[0] + _word(data, at + 8)) & _ALL, 37) * factor) & _ALL
    y = (_turned((y + v[1] + _word(data, at + 48)) & _ALL, 42) * factor) & _ALL
    x ^= (w[1] * 9) & _ALL
    y = (y + v[0] * 9 + _word(data, at + 40)) & _ALL
    z = (_turned((z + w[0]) & _ALL, 33) * factor) & _ALL
    v = _weak(data, at, (v[1] * factor) & _ALL, (x + w[0]) & _ALL)
    w = _weak(data, at + 32, (z + w[1]) & _ALL, (y + _word(data, at + 16)) & _ALL)
    x, z = z, x
    first = (_pair(v[0], w[0], factor) + _mixed(y) * _K0 + z) & _ALL
    return _pair(first, (_pair(v[1], w[1], factor) + x) & _ALL, factor)


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(data, at + offset) for offset in (0, 8, 16, 24))
    a = (a + w) & _ALL
    b = _turned((b + a + z) & _ALL, 21)
    c = a
    a = (a + x + y) & _ALL
    b = (b + _turned(a, 44)) & _ALL
    return (a + z) & _ALL, (b + c) & _ALL
