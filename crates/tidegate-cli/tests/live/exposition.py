"""Reads metrics (OpenMetrics 1.0) from standard input with the parser of Prometheus' Python client, and writes them as JSON.

That parser accepts a metric without TYPE or HELP, and skips a series that occurs twice. Here both are errors. The exit code is 1 if anything is wrong.
"""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families


def read(text):
    families = []
    for family in text_string_to_metric_families(text):
        if family.type == "unknown":
            raise ValueError(f"{family.name} has no TYPE")
        if not family.documentation:
            raise ValueError(f"{family.name} has no HELP")
        samples = [{"name": sample.name, "labels": sample.labels, "value": sample.value} for sample in family.samples]
        families.append({"name": family.name, "type": family.type, "samples": samples})
    lines = sum(1 for line in text.split("\n") if line and not line.startswith("#"))
    read = sum(len(family["samples"]) for family in families)
    if lines != read:
        raise ValueError(f"{lines} lines of samples are {read} series: one occurs twice")
    return families


try:
    json.dump(read(sys.stdin.buffer.read().decode("utf-8")), sys.stdout)
except (ValueError, UnicodeDecodeError) as error:
    sys.exit(f"{type(error).__name__}: {error}")
