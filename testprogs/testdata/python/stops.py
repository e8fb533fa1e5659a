"""Allocates in functions of Python, and compresses, which releases the interpreter's lock."""
import zlib


class Store:
    def __init__(self):
        self.parts = []

    def grow(self, size):
        self.parts.append(bytearray(size))


def main():
    store = Store()
    for kilobytes in (2000, 3000):
        store.grow(kilobytes * 1000)
    text = b"abc" * 1000
    return zlib.compress(text)


main()
