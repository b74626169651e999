"""How well a small real model calls tools through Helve, over each protocol and in each mode.

See docs/evidence/small-model.md.

evaluate.py HELVE PLACE [--part tune|held] [--only NAME] [--show]"""

import argparse
import collections
import contextlib
import datetime
import json
import pathlib
import re
import sys
import urllib.request

import servers

HERE = pathlib.Path(__file__).resolve().parent
# Three ports from here on: llama.cpp, Ollama, Helve.
PORT = 18093

# The models as configuration calls them, with the mode that is asked for and whether a tool must be called first. Ollama
# holds a model to a form only where it must: a schema has no place for words. Temperature 0 everywhere.
Way = collections.namedtuple("Way", "name protocol mode model asked choice", defaults=["auto"])
WAYS = [
    Way("llama-held", "OpenAI", "prompt, held to the form", "llama-held", "prompt:small"),
    Way("llama-prompt", "OpenAI", "prompt", "llama-free", "prompt:small"),
    Way("llama-native", "OpenAI", "native", "llama-held", "native"),
    Way("ollama-held", "Ollama", "prompt, call required, held to the form", "ollama", "prompt:small", "required"),
    Way("ollama-prompt", "Ollama", "prompt", "ollama", "prompt:small"),
    Way("ollama-native", "Ollama", "native", "ollama", "native"),
]
# What has to come of it: over each protocol, natively and in prompt mode, both of these are called and their results told.
TOOLS = {"calculator", "time"}


def config(port):
    return f"""
default_model = "llama-held"

[server]
listen = "127.0.0.1:{port + 2}"
zone = "UTC"

# The machine's disk may be fuller than a server would have it.
[limits]
disk_free_min = "256 MiB"

[[models]]
name = "llama-held"
vendor = "llama_cpp"
base_url = "http://127.0.0.1:{port}/v1"
model = "smollm2"
params = {{ temperature = 0.0, max_tokens = 96 }}

[[models]]
name = "llama-free"
vendor = "openai_compatible"
base_url = "http://127.0.0.1:{port}/v1"
model = "smollm2"
params = {{ temperature = 0.0, max_tokens = 96 }}

[[models]]
name = "ollama"
vendor = "ollama"
base_url = "http://127.0.0.1:{port + 1}"
model = "smollm2"
params = {{ temperature = 0.0, max_tokens = 96 }}

[[agents]]
name = "default"
tools = ["calculator", "time"]
max_steps = 3
"""


def declared(name, description, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


# Tools of the client's: Helve knows nothing of them but these declarations.
CLIENT = [
    declared("get_weather", "Get the weather in a city.", city={"type": "string", "description": "Name of the city"}),
    declared("convert_units", "Convert a value from one unit to another.", value={"type": "number"},
             **{"from": {"type": "string", "description": "Unit, such as mile"}, "to": {"type": "string", "description": "Unit, such as km"}}),
    declared("set_reminder", "Remind the user of something later.", minutes={"type": "integer", "description": "In how many minutes"},
             text={"type": "string", "description": "What to remind of"}),
]
SCHEMAS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in CLIENT}
FACTORS = {("mi", "km"): 1.609344, ("kg", "lb"): 2.204623, ("in", "cm"): 2.54, ("fe", "m"): 0.3048, ("fo", "m"): 0.3048,
           ("ft", "m"): 0.3048, ("ki", "po"): 2.204623, ("ki", "lb"): 2.204623, ("kg", "po"): 2.204623,
           ("mi", "ki"): 1.609344, ("in", "ce"): 2.54, ("fe", "me"): 0.3048, ("fo", "me"): 0.3048, ("ft", "me"): 0.3048}


def run_client_tool(name, arguments):
    """What the tool says, and what of it an answer has to contain."""
    if name == "get_weather":
        degrees = 10 + sum(arguments["city"].lower().encode()) % 20
        return f"{degrees} °C, light rain", str(degrees)
    if name == "convert_units":
        units = tuple(arguments[key].lower()[:2] for key in ("from", "to"))
        factor = FACTORS.get(units) or FACTORS.get((units[0], units[1][:1]))
        if factor is None:
            return "these units are not known", None
        result = f"{arguments['value'] * factor:.2f}".rstrip("0").rstrip(".")
        return f"{result} {arguments['to']}", result
    minutes = str(arguments["minutes"])
    return f"The reminder is set for {minutes} minutes from now.", minutes


def fits(name, arguments):
    """Whether arguments are what the declaration says; Helve judges those of its own tools."""
    kinds = {"string": str, "integer": int, "number": (int, float)}
    schema = SCHEMAS.get(name)
    if schema is None or not isinstance(arguments, dict):
        return False
    right = lambda key, kind: isinstance(arguments.get(key), kinds[kind["type"]]) and arguments[key] != ""
    return set(arguments) <= set(schema["properties"]) and all(right(k, v) for k, v in schema["properties"].items())


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    return urllib.request.urlopen(request, timeout=600)


def frames(answer):
    for line in answer:
        if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
            yield json.loads(line[6:])


def converse(helve, way, question):
    """The conversation until there is an answer: every call with what came of it, and the last words."""
    messages, calls, words = [{"role": "user", "content": question}], [], ""
    for _ in range(3):
        config = {"model": way.model, "mode": way.asked}
        choice = "auto" if calls else way.choice
        answer = post(f"{helve}/api/chat", {"messages": messages, "config": config, "tools": CLIENT, "tool_choice": choice})
        run, asked = answer.headers["x-helve-run"], []
        for frame in frames(answer):
            if "content" in frame:
                words = frame["content"]
            asked = frame.get("tool_calls", asked)
            if "error" in frame:
                words = f"(error: {frame['error']['message']})"
        calls += of_the_server(helve, run)
        if not asked:
            break
        messages.append({"role": "assistant", "content": words, "tool_calls": asked})
        for call in asked:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": of_the_client(call, calls)})
    return calls, words


def of_the_server(helve, run):
    """The calls of Helve's own tools, as the run's log has them."""
    with urllib.request.urlopen(f"{helve}/api/runs/{run}/events", timeout=60) as log:
        events = list(frames(log))
    calls = {}
    for event in events:
        if event["type"] == "tool.requested" and event["tool"] not in SCHEMAS:
            with contextlib.suppress(ValueError):
                event["arguments"] = json.loads(event["arguments"])
            calls[event["call"]] = {"tool": event["tool"], "arguments": event["arguments"], "valid": False, "output": ""}
        elif event["type"] == "tool.finished" and event["call"] in calls:
            calls[event["call"]] |= outcome(event)
    return list(calls.values())


def outcome(event):
    text = json.dumps(event, ensure_ascii=False)
    return {"valid": '"succeeded"' in text or '"output"' in text, "output": text}


def of_the_client(call, calls):
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    with contextlib.suppress(ValueError):
        arguments = json.loads(arguments)
    valid = fits(name, arguments)
    output, needed = run_client_tool(name, arguments) if valid else ("these arguments are not valid", None)
    calls.append({"tool": name, "arguments": arguments, "valid": valid, "output": output, "needed": needed})
    return output


def arguments_are_right(row, call):
    if row["tool"] == "calculator":
        return number_in(row["answer"], call["output"])
    for key, expected in row["arguments"].items():
        given = call["arguments"].get(key)
        if isinstance(expected, list):
            if not any(word in str(given).lower() for word in expected):
                return False
        elif given != expected:
            return False
    return row["tool"] == "time" or call["needed"] is not None


def number_in(number, text):
    return re.search(rf"(?<![\d.]){re.escape(number)}(?!\d|\.\d)", text.replace(",", "")) is not None


def result_is_told(row, call, words):
    if row["tool"] == "time":
        told = re.search(r"(\d\d):(\d\d):\d\d", call["output"])
        if not told:
            return False
        hour, minute = int(told[1]), told[2]
        return any(f"{shown}:{minute}" in words for shown in (f"{hour:02}", f"{hour}", f"{hour % 12 or 12}"))
    needed = row["answer"] if row["tool"] == "calculator" else call.get("needed")
    return needed is not None and number_in(needed, words)


def judge(row, calls, words):
    if "tool" not in row:
        return {"needless": bool(calls)}
    first = calls[0] if calls else None
    valid = first is not None and first["valid"]
    tool = valid and first["tool"] == row["tool"]
    right = tool and arguments_are_right(row, first)
    return {"valid": valid, "tool": tool, "arguments": right, "told": right and result_is_told(row, first, words)}


def measure(helve, way, rows, show):
    counts, done = collections.Counter(), collections.Counter()
    for row in rows:
        calls, words = converse(helve, way, row["question"])
        verdict = judge(row, calls, words)
        counts.update(key for key, yes in verdict.items() if yes)
        done.update([row["tool"]] if verdict.get("told") else [])
        if show:
            made = [(call["tool"], call["arguments"], call["valid"]) for call in calls]
            print(f"   {way.name} | {row['question']} | {made} | {words!r} | {[k for k, v in verdict.items() if v]}", flush=True)
    return counts, done


def table(rows, results):
    asked = sum("tool" in row for row in rows)
    print(f"\n| protocol | mode | calls valid | right tool | right arguments | answer has the result | needless calls |\n|{'---|' * 7}")
    for way, (counts, _) in results.items():
        cells = [f"{counts[key]}/{asked}" for key in ("valid", "tool", "arguments", "told")]
        print(f"| {way.protocol} | {way.mode} | {' | '.join(cells)} | {counts['needless']}/{len(rows) - asked} |")


def unanswered(results):
    """Where no question at all was answered with the result of a tool."""
    answered = collections.defaultdict(set)
    for way, (_, done) in results.items():
        answered[way.protocol, way.asked.partition(":")[0]] |= set(done)
    lacking = {kind: sorted(TOOLS - done) for kind, done in answered.items() if TOOLS - done}
    return [f"{protocol}, {mode}: no answer has the result of: {', '.join(tools)}" for (protocol, mode), tools in lacking.items()]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("helve", type=pathlib.Path)
    options.add_argument("place", type=pathlib.Path)
    options.add_argument("--part", choices=["tune", "held"], help="only the questions that were, or were not, looked at while tuning")
    options.add_argument("--language", choices=["en", "zh"])
    options.add_argument("--only", action="append", choices=[way.name for way in WAYS])
    options.add_argument("--port", type=int, default=PORT)
    options.add_argument("--show", action="store_true", help="every question with what came of it")
    given = options.parse_args()
    place = given.place.resolve()
    place.mkdir(parents=True, exist_ok=True)
    rows = json.loads((HERE / "questions.json").read_text())
    rows = [row for row in rows if given.part in (None, row["part"]) and given.language in (None, row["language"])]
    ways = [way for way in WAYS if given.only is None or way.name in given.only]
    port, helve = given.port, f"http://127.0.0.1:{given.port + 2}"
    (place / f"helve-{port}.toml").write_text(config(port))
    with contextlib.ExitStack() as running:
        if any(way.protocol == "OpenAI" for way in ways):
            running.enter_context(servers.llama(place, port))
        if any(way.protocol == "Ollama" for way in ways):
            running.enter_context(servers.ollama(place, port + 1))
        line = [given.helve.resolve(), "serve", "--config", place / f"helve-{port}.toml", "--data", place / f"data-{port}"]
        running.enter_context(servers.process(place / f"helve-{port}.log", line, f"{helve}/readyz"))
        results = {}
        for way in ways:
            print(f"── {way.protocol}, {way.mode}: {len(rows)} questions", flush=True)
            began = datetime.datetime.now()
            results[way] = measure(helve, way, rows, given.show)
            print(f"   {(datetime.datetime.now() - began).seconds} s", flush=True)
    table(rows, results)
    missing = unanswered(results)
    if missing:
        sys.exit("\n".join(missing))


if __name__ == "__main__":
    main()
