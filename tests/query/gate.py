"""A way to an object storage that can be held."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Gate:
    """A port that passes connections on to a server, and holds what they send while it is closed."""

    server: str
    is_open: threading.Event = field(default_factory=threading.Event)
    # Set when something is held.
    is_holding: threading.Event = field(default_factory=threading.Event)
    # The bytes of requests after which it closes by itself.
    closes_after: float = float("inf")

    def __enter__(self) -> Gate:
        self.is_open.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_open.set()
        self.listener.close()

    def accept(self) -> None:
        url = urlsplit(self.server)
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection((url.hostname, url.port))
            except OSError:
                return
            threading.Thread(target=self.copy, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, False), daemon=True).start()

    def copy(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if is_request:
                    self.count(len(data))
                if is_request and not self.is_open.is_set():
                    self.is_holding.set()
                    self.is_open.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def count(self, length: int) -> None:
        self.closes_after -= length
        if self.closes_after < 0:
            self.is_open.clear()
