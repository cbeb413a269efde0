"""A headless Chromium, driven through a pipe by the DevTools protocol."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

PATH = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
    "about:blank",
)
LIMIT_SECONDS = 240.0
# Speaks the protocol on the file descriptors 3 and 4, as the browser wants it, and becomes the browser.
_START = """
import fcntl, os, sys
reading, writing = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(reading, 3), os.dup2(writing, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page, and the messages about it."""

    def __init__(self, reading: Any, writing: Any) -> None:
        self._reading = reading
        self._writing = writing
        self._numbers = itertools.count(1)
        self._session: dict[str, str] = {}
        self._events: list[dict[str, Any]] = []
        target = next(info for info in self.call("Target.getTargets")["targetInfos"] if info["type"] == "page")
        session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self._session = {"sessionId": session}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol, and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters, **self._session}
        self._writing.write(json.dumps(message).encode() + b"\0")
        self._writing.flush()
        return self._receive(lambda answer: answer.get("id") == number)["result"]

    def open(self, address: str) -> None:
        """Load a page, and wait until it is there."""
        # Two addresses that differ in what follows the # are one page; this makes it a new one.
        self.call("Page.navigate", url="about:blank")
        self._events.clear()
        loader = self.call("Page.navigate", url=address)["loaderId"]

        def loaded(message: dict[str, Any]) -> bool:
            parameters = message.get("params", {})
            return parameters.get("loaderId") == loader and parameters.get("name") == "load"

        if not any(map(loaded, self._events)):
            self._receive(loaded)

    def ask(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press and release a key."""
        key_event = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **key_event, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **key_event)
        # What a key causes is done when two frames have been drawn.
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def complaints(self) -> list[dict[str, Any]]:
        """Return what the page wrote to the console, threw, or asked the network for since it was opened."""
        self.ask("0")
        bad = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event for event in self._events if event["method"] in bad or _is_request(event)]

    def _receive(self, wanted: Any) -> dict[str, Any]:
        """Return the first message that is wanted; events before it are kept."""
        while True:
            parts: list[bytes] = []
            while not parts or parts[-1] != b"\0":
                parts.append(self._reading.read(1))
                assert parts[-1], "the browser went away"
            message = json.loads(b"".join(parts)[:-1])
            if "method" in message:
                self._events.append(message)
            if wanted(message):
                assert "error" not in message, message
                return message


def _is_request(event: dict[str, Any]) -> bool:
    address = event.get("params", {}).get("request", {}).get("url", "file:")
    return event["method"] == "Network.requestWillBeSent" and not address.startswith(("file:", "about:", "data:"))


@contextmanager
def browser() -> Generator[Browser]:
    """Start a browser, and end it with all of its processes."""
    assert PATH is not None, "callers skip where there is no browser"
    to_child, from_child = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _START,
                str(to_child[0]),
                str(from_child[1]),
                PATH,
                f"--user-data-dir={folder}",
                *OPTIONS,
            ],
            pass_fds=(to_child[0], from_child[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_child[0])
        os.close(from_child[1])
        # A browser that says nothing more is ended, so that no read waits for ever.
        timer = threading.Timer(LIMIT_SECONDS, lambda: os.killpg(process.pid, signal.SIGKILL))
        timer.start()
        try:
            with open(from_child[0], "rb") as reading, open(to_child[1], "wb") as writing:
                yield Browser(reading, writing)
        finally:
            timer.cancel()
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
