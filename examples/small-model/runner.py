"""What Ollama starts to run a model, here with llama.cpp from the Python registry: the runner that comes with this build of
Ollama is made for graphics cards and many times slower without one. Speaks the little HTTP between the two; completions only."""

import argparse
import json
import os
import signal
import socket
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import xllamacpp

SAMPLING = ("seed", "top_k", "top_p", "min_p", "typical_p", "repeat_last_n", "temperature", "repeat_penalty",
            "presence_penalty", "frequency_penalty", "stop")
# Ollama leaves out what is zero, and llama.cpp would put its own defaults in the place of it: a temperature of 0.8.
ZERO = {"temperature": 0, "min_p": 0}
TOKENS_MAX = 1024


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Engine:
    """llama.cpp, loaded in the background; `address` is known once it is ready."""

    def __init__(self, model, context, threads):
        self.address = None
        params = xllamacpp.CommonParams()
        params.model.path, params.hostname, params.port = model, "127.0.0.1", free_port()
        params.n_ctx, params.n_parallel = context, 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        threading.Thread(target=self.load, args=(params,), daemon=True).start()

    def load(self, params):
        self.server = xllamacpp.Server(params)
        self.address = self.server.listening_address

    def events(self, question):
        body = json.dumps(question).encode()
        request = urllib.request.Request(self.address + "/completion", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=900) as answer:
            for line in answer:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])


def question_of(asked):
    options = asked.get("options") or {}
    question = {**ZERO, **{key: options[key] for key in SAMPLING if options.get(key) is not None}}
    most = options.get("num_predict") or -1
    question |= {"prompt": asked["prompt"], "stream": True, "cache_prompt": True,
                 "n_predict": most if most > 0 else TOKENS_MAX}
    if asked.get("grammar"):
        question["grammar"] = asked["grammar"]
    return question


def counts(event):
    timings = event.get("timings") or {}
    return {"prompt_eval_count": event.get("tokens_evaluated", 0), "eval_count": event.get("tokens_predicted", 0),
            "prompt_eval_duration": int(timings.get("prompt_ms", 0) * 1e6),
            "eval_duration": int(timings.get("predicted_ms", 0) * 1e6)}


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        ready = engine.address is not None
        self.whole({"status": 0 if ready else 2, "progress": 1.0 if ready else 0.5})

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        # Ollama spells some names with a capital.
        asked = {key.lower(): value for key, value in json.loads(self.rfile.read(length) or b"{}").items()}
        if self.path != "/completion":
            return self.whole({"error": "only completions"}, 500)
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in engine.events(question_of(asked)):
            if event.get("content"):
                self.piece({"content": event["content"], "done": False})
            if event.get("stop"):
                reason = 1 if event.get("stop_type") == "limit" else 0
                self.piece({"content": "", "done": True, "done_reason": reason, **counts(event)})
                break
        self.wfile.write(b"0\r\n\r\n")

    def whole(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def piece(self, value):
        line = json.dumps(value).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()


def leave_with(parent):
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


arguments = argparse.ArgumentParser()
arguments.add_argument("--model")
arguments.add_argument("--ctx-size", type=int, default=4096)
arguments.add_argument("--port", type=int)
arguments.add_argument("--threads", type=int, default=2)
given, _ = arguments.parse_known_args()
engine = Engine(given.model, given.ctx_size, given.threads)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
threading.Thread(target=leave_with, args=(os.getppid(),), daemon=True).start()
ThreadingHTTPServer(("127.0.0.1", given.port), Door).serve_forever()
