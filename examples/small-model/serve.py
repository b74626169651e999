"""The OpenAI door of llama.cpp with a small model, both from the Python registry: serve.py MODEL.gguf [PORT]."""

import os
import pathlib
import signal
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostname = "127.0.0.1"
params.port = int(sys.argv[2]) if len(sys.argv) > 2 else 18083
params.n_ctx = 8192
params.n_parallel = 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = min(2, len(os.sched_getaffinity(0)))
params.use_jinja = True
# The file's own template adds a persona and knows no tools.
params.chat_template = pathlib.Path(__file__).with_name("template.jinja").read_text()
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
signal.pause()
