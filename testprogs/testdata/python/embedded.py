# The application of embed.c.
import time

tables = []
sessions = []


def preload():
    for _ in range(20):
        tables.append(bytearray(50_000))


def remember(n):
    sessions.append(bytearray(20_000))


def render(n):
    return bytearray(30_000)


def application(n):
    page = render(n)
    if n % 2 == 0:
        remember(n)
    return page


def wait():
    time.sleep(1000)
