"""A small program for breakpoints and steps in Python."""


class Store:
    def __init__(self):
        self.parts = []

    def grow(self, n):
        part = n * 2
        self.parts.append(part)
        return len(self.parts)


def main():
    store = Store()
    for i in range(4):
        store.grow(i)
    total = 0
    for part in store.parts:
        total += part
    return total


print(main())
