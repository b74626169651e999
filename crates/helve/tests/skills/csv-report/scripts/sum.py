#!/usr/bin/env python3
import csv, sys

print(sum(float(row["net_of_tax"]) for row in csv.DictReader(sys.stdin)))
