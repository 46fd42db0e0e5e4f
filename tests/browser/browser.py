"""Chromium without a window, driven through the DevTools protocol over a pipe: no port, no package.

    with Browser() as browser:
        page = browser.open("file:///tmp/page.html")
        page.click(100, 100)
        assert page.run("document.title") == "page"

What a page writes to its console as an error, uncaught exceptions, and requests that it makes are kept in `page.errors` and
`page.requests`; requests that its policy keeps from being made are not. `browser.serve` answers for other hosts.
"""

import base64
import json
import mimetypes
import os
import select
import shutil
import subprocess
import tempfile
import time

import page as common
from page import TIMEOUT


class Browser:
    """Chromium, until the end of the `with` block."""

    name = "chromium"

    def __init__(self, *arguments):
        self.home = tempfile.mkdtemp(prefix="browser-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # The browser reads from its descriptor 3 and writes to 4.
        command = ["sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "sh", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe",
                   f"--user-data-dir={self.home}", *arguments, "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.received = b""
        self.number = 0
        self.answers = {}
        self.pages = {}
        self.served = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self.process.wait(10)
        except Exception:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def open(self, address, width=1280, height=800, dark=False):
        """Opens a page and waits until it is loaded."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        for domain in ["Page", "Runtime", "Network", "Log"]:
            page.send(f"{domain}.enable")
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.set_dark(dark)
        page.requests.clear()
        page.send("Page.navigate", url=address)
        page.wait("document.readyState === 'complete' && location.href !== 'about:blank'")
        return page

    def send(self, method, session=None, **parameters):
        """Sends a command and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self.write_end, data):]
        return self.answer(message["id"], method)

    def answer(self, number, method):
        """Waits for an answer. Events that arrive meanwhile may send commands too."""
        end = time.monotonic() + TIMEOUT
        while number not in self.answers:
            message = self.message(end)
            if "id" in message:
                self.answers[message["id"]] = message
            elif message["method"] == "Fetch.requestPaused":
                self.fulfill(message["params"])
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].notice(message)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def serve(self, origin, files):
        """Serves an origin from the files of a directory, without a network."""
        self.served.append((origin + "/", files))
        self.send("Fetch.enable", patterns=[{"urlPattern": prefix + "*"} for prefix, _ in self.served])

    def fulfill(self, paused):
        url = paused["request"]["url"].split("#")[0].split("?")[0]
        [file] = [files / (url[len(prefix):] or "index.html") for prefix, files in self.served if url.startswith(prefix)]
        found = file.is_file()
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        self.send("Fetch.fulfillRequest", requestId=paused["requestId"], responseCode=200 if found else 404,
                  responseHeaders=[{"name": "Content-Type", "value": kind}], body=base64.b64encode(file.read_bytes() if found else b"").decode())

    def message(self, end):
        while b"\0" not in self.received:
            if not select.select([self.read_end], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(f"no answer of the browser in {TIMEOUT} s")
            data = os.read(self.read_end, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended; is the package chromium complete?")
            self.received += data
        message, self.received = self.received.split(b"\0", 1)
        return json.loads(message)


class Page(common.Page):
    """A page in its own tab."""

    def __init__(self, browser, session, target):
        self.browser = browser
        self.session = session
        self.target = target
        self.errors = []
        self.requests = []
        self.urls = {}

    def send(self, method, **parameters):
        return self.browser.send(method, self.session, **parameters)

    def notice(self, event):
        parameters = event["params"]
        if event["method"] == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"][:200])
            self.urls[parameters["requestId"]] = self.requests[-1]
        elif event["method"] == "Network.loadingFailed" and parameters.get("blockedReason"):
            self.requests.remove(self.urls[parameters["requestId"]])

    def close(self):
        """Closes the page, as a user does."""
        self.browser.send("Target.closeTarget", targetId=self.target)
        del self.browser.pages[self.session]

    def run(self, script):
        """Returns the value of an expression of JavaScript."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def set_dark(self, dark):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def mouse(self, kind, x, y, button="left", shift=False, clicks=1, is_pressed=False):
        """Moves the mouse (`move`), or presses (`down`) or releases (`up`) a button."""
        names = {"move": "mouseMoved", "down": "mousePressed", "up": "mouseReleased"}
        is_idle = kind == "move" and not is_pressed
        self.send("Input.dispatchMouseEvent", type=names[kind], x=x, y=y, modifiers=8 if shift else 0, button="none" if is_idle else button,
                  clickCount=0 if kind == "move" else clicks)

    def wheel(self, x, y, by, control=False, shift=False):
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by, modifiers=2 * control + 8 * shift)
        self.settle()

    def touch(self, kind, *points):
        """Puts fingers on a place, or moves them (`touchStart`, `touchMove`, `touchEnd`)."""
        self.send("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)])
        self.settle()

    def press(self, key, until=None, shift=False):
        """Presses a key, such as `w` or `Enter`, and holds it until an optional expression is true."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = f"Key{key.upper()}" if len(key) == 1 and key.isalpha() else ""
        number = {"Enter": 13, "Tab": 9, "End": 35}.get(key, 0)
        event = {"key": key, "code": code, "modifiers": 8 if shift else 0, "windowsVirtualKeyCode": number}
        self.send("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        if until:
            self.wait(until)
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)
        self.settle()

    def hold(self, key, is_down):
        self.send("Input.dispatchKeyEvent", type="keyDown" if is_down else "keyUp", key=key)

    def type(self, text):
        self.send("Input.insertText", text=text)
        self.settle()

    def screenshot(self, path):
        self.settle()
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
