"""What the pages of all browsers can do.

A browser's page has the methods `run`, `mouse`, `keys`, `wheel`, `screenshot`, and the list `errors`.
"""

import json
import time

TIMEOUT = 60


class Page:
    """A page, with the gestures of a user."""

    def wait(self, script, seconds=TIMEOUT):
        """Waits until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(f"not true in {seconds} s: {script}")
            time.sleep(0.02)

    def settle(self):
        """Waits until changes are drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def is_hidden(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).hidden")

    def attribute(self, selector, name):
        return self.run(f"document.querySelector({json.dumps(selector)}).getAttribute({json.dumps(name)})")

    def move(self, x, y):
        self.mouse("move", x, y)
        self.settle()

    def click(self, x, y, times=1):
        self.mouse("move", x, y)
        for number in range(1, times + 1):
            self.mouse("down", x, y, clicks=number)
            self.mouse("up", x, y, clicks=number)
        self.settle()

    def drag(self, x, y, to_x, to_y, shift=False, button="left"):
        self.mouse("move", x, y)
        self.mouse("down", x, y, shift=shift, button=button)
        for step in range(1, 6):
            self.mouse("move", x + (to_x - x) * step / 5, y + (to_y - y) * step / 5, shift=shift, button=button, is_pressed=True)
        self.mouse("up", to_x, to_y, shift=shift, button=button)
        self.settle()
