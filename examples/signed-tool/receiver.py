"""A tool's server that checks that a call is from Helve, and for whom.

    TOOL_SIGNING_KEY=… python3 receiver.py 9000

Standard library only. Take `verify` into your own server; what it refuses, answer with 401.
"""

import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import unquote

# Older requests are refused, so that what somebody overheard cannot be sent again later.
SECONDS_MAX = 300
IDS = ["X-Helve-User", "X-Helve-Conversation", "X-Helve-Message", "X-Helve-Run", "X-Helve-Call"]


def verify(key: bytes, method: str, target: str, headers, body: bytes, now: float) -> bool:
    """Whether the request has a signature of ours that is not too old. `target` is the path with its query."""
    timestamp = headers.get("X-Helve-Timestamp", "")
    if not timestamp.isdigit() or abs(now - int(timestamp)) > SECONDS_MAX:
        return False
    ids = [headers.get(name, "") for name in IDS]
    lines = [timestamp, method, target, *ids, hashlib.sha256(body).hexdigest()]
    signed = "\n".join(lines).encode()
    expected = "v1=" + hmac.new(key, signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), headers.get("X-Helve-Signature", "").encode())


class Receiver(BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = os.environ["TOOL_SIGNING_KEY"].encode()
        if not verify(key, self.command, self.path, self.headers, body, time.time()):
            return self.say(401, {"error": "the signature does not fit"})
        self.say(200, {name[8:].lower(): unquote(self.headers.get(name, "")) for name in IDS})

    do_GET = do_POST = answer

    def say(self, status, value):
        text = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()
