"""Firefox without a window, driven through its remote protocol, Marionette: no driver program, no package.

    with Firefox() as browser:
        page = browser.open("file:///tmp/page.html")

The interface is that of `browser.py`. All pages are opened in one tab: Firefox does not draw tabs in the background.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import page as common
from page import TIMEOUT

# The browser itself makes no requests, so that the requests of a page can be counted.
PREFERENCES = {
    "marionette.port": 0,
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.aboutwelcome.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    "browser.safebrowsing.malware.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "extensions.update.enabled": False,
    "privacy.reduceTimerPrecision": False,
}

# Keeps the requests of pages.
WATCH_REQUESTS = """
window.pageRequests = [];
Services.obs.addObserver({observe(channel) {
  channel.QueryInterface(Ci.nsIChannel);
  if (channel.loadInfo?.browsingContextID) window.pageRequests.push(channel.URI.spec.slice(0, 200));
}}, "http-on-modify-request");
"""

RESIZE = """
const {style} = gBrowser.selectedBrowser;
for (const [name, size] of [["width", arguments[0]], ["height", arguments[1]]])
  for (const limit of ["", "min-", "max-"]) style.setProperty(limit + name, size + "px");
"""

ERRORS = """
return Services.console.getMessageArray().map((message) => {
  try { message.QueryInterface(Ci.nsIScriptError); } catch { return null; }
  const isError = !(message.flags & Ci.nsIScriptError.warningFlag);
  return isError && message.sourceName.startsWith("file:") ? message.errorMessage : null;
}).filter((text) => text);
"""

KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015",
        "Home": "\ue011", "End": "\ue010", "Shift": "\ue008", " ": " "}


class Firefox:
    """Firefox, until the end of the `with` block."""

    name = "firefox"

    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="firefox-"))
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
        (self.home / "user.js").write_text("\n".join(lines))
        environment = {**os.environ, "MOZ_HEADLESS_WIDTH": "3900", "MOZ_HEADLESS_HEIGHT": "2400"}
        command = ["firefox-esr", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", str(self.home), "about:blank"]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = None
        self.received = b""
        self.number = 0
        try:
            self.connect()
        except BaseException:
            self.__exit__()
            raise

    def connect(self):
        """Begins a session."""
        self.socket = socket.create_connection(("127.0.0.1", self.port()), TIMEOUT)
        self.message()
        self.send("WebDriver:NewSession", capabilities={"alwaysMatch": {"timeouts": {"script": TIMEOUT * 1000}}})
        self.chrome(WATCH_REQUESTS)

    def port(self):
        """Returns the port that Firefox chose."""
        file, end = self.home / "MarionetteActivePort", time.monotonic() + TIMEOUT
        while not (file.exists() and file.read_text()):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("firefox-esr has not started")
            time.sleep(0.05)
        return int(file.read_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        if self.socket:
            self.socket.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def open(self, address, width=1280, height=800, dark=False):
        """Opens a page and waits until it is loaded."""
        page = Page(self)
        page.set_dark(dark)
        self.chrome(RESIZE, width, height)
        self.chrome("window.pageRequests.length = 0; Services.console.reset();")
        self.send("WebDriver:Navigate", url="about:blank")
        self.send("WebDriver:Navigate", url=address)
        page.wait("document.readyState === 'complete'")
        return page

    def chrome(self, script, *arguments):
        """Runs a script of the browser, not of a page."""
        self.send("Marionette:SetContext", value="chrome")
        try:
            return self.send("WebDriver:ExecuteScript", script=script, args=list(arguments))["value"]
        finally:
            self.send("Marionette:SetContext", value="content")

    def send(self, command, **parameters):
        """Sends a command and returns its result."""
        self.number += 1
        data = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(data), data))
        _, number, error, result = self.message()
        assert number == self.number, (number, self.number)
        if error:
            raise RuntimeError(f"{command}: {error['error']}: {error['message']}")
        return result

    def message(self):
        while b":" not in self.received:
            self.receive()
        length, self.received = self.received.split(b":", 1)
        while len(self.received) < int(length):
            self.receive()
        message, self.received = self.received[:int(length)], self.received[int(length):]
        return json.loads(message)

    def receive(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise RuntimeError("firefox-esr has ended")
        self.received += data


class Page(common.Page):
    """The page in the tab."""

    def __init__(self, browser):
        self.browser = browser

    @property
    def errors(self):
        return self.browser.chrome(ERRORS)

    @property
    def requests(self):
        return self.browser.chrome("return window.pageRequests")

    def close(self):
        self.browser.send("WebDriver:Navigate", url="about:blank")

    def run(self, script):
        """Returns the value of an expression of JavaScript."""
        return self.browser.send("WebDriver:ExecuteScript", script=f"return ({script});", args=[])["value"]

    def set_dark(self, dark):
        self.browser.chrome("Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', arguments[0])", 0 if dark else 1)
        self.wait(f"matchMedia('(prefers-color-scheme: dark)').matches === {json.dumps(dark)}")

    def act(self, source, kind, *actions, **more):
        self.browser.send("WebDriver:PerformActions", actions=[{"type": kind, "id": source, "actions": list(actions), **more}])

    def mouse(self, kind, x, y, button="left", shift=False, clicks=1, is_pressed=False):
        """Moves the mouse (`move`), or presses (`down`) or releases (`up`) a button."""
        number = {"left": 0, "middle": 1}[button]
        if shift and kind == "down":
            self.hold("Shift", True)
        action = {"move": {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}, "down": {"type": "pointerDown", "button": number},
                  "up": {"type": "pointerUp", "button": number}}[kind]
        self.act("mouse", "pointer", action, parameters={"pointerType": "mouse"})
        if shift and kind == "up":
            self.hold("Shift", False)

    def click(self, x, y, times=1):
        # The clicks are sent together, so that two of them are a double click also on a busy machine.
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.act("mouse", "pointer", {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}, *press * times, parameters={"pointerType": "mouse"})
        self.settle()

    def wheel(self, x, y, by, control=False, shift=False):
        for key in [name for name, held in [("\ue009", control), ("\ue008", shift)] if held]:
            self.act("keyboard", "key", {"type": "keyDown", "value": key})
        self.act("wheel", "wheel", {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": by, "duration": 0})
        for key in [name for name, held in [("\ue009", control), ("\ue008", shift)] if held]:
            self.act("keyboard", "key", {"type": "keyUp", "value": key})
        self.settle()

    def touch(self, kind, *points):
        """Puts fingers on a place, or moves them (`touchStart`, `touchMove`, `touchEnd`)."""
        move = lambda x, y: {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}
        begin = lambda x, y: [move(x, y), {"type": "pointerDown", "button": 0}]
        steps = [begin(*at) if kind == "touchStart" else [move(*at)] for at in points] or [[{"type": "pointerUp", "button": 0}]] * self.fingers
        self.fingers = len(points)
        self.browser.send("WebDriver:PerformActions", actions=[
            {"type": "pointer", "id": f"finger {number}", "parameters": {"pointerType": "touch"}, "actions": actions} for number, actions in enumerate(steps)])
        self.settle()

    def press(self, key, until=None, shift=False):
        """Presses a key, such as `w` or `Enter`, and holds it until an optional expression is true."""
        if shift:
            self.hold("Shift", True)
        self.hold(key, True)
        if until:
            self.wait(until)
        self.hold(key, False)
        if shift:
            self.hold("Shift", False)
        self.settle()

    def hold(self, key, is_down):
        self.act("keyboard", "key", {"type": "keyDown" if is_down else "keyUp", "value": KEYS.get(key, key)})

    def type(self, text):
        for character in text:
            self.hold(character, True)
            self.hold(character, False)
        self.settle()

    def screenshot(self, path):
        self.settle()
        Path(path).write_bytes(base64.b64decode(self.browser.send("WebDriver:TakeScreenshot", full=False)["value"]))
