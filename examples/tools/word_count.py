#!/usr/bin/env python3
"""Counts words: the smallest tool in Python. One JSON object in, one JSON value out."""

import json
import sys

text = json.load(sys.stdin)["arguments"]["text"]
print(json.dumps({"words": len(text.split()), "lines": len(text.splitlines()), "characters": len(text)}))
