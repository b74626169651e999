#!/bin/sh
# The smallest tool of all: what a script prints is what the model reads.
df -h .
