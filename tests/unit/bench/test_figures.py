"""Figures, targets and rows of the benchmarks."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest
from rich.console import Console

from tests.bench import report
from tests.bench.figures import AtLeast, AtMost, Figure, RatioAtLeast, Target, percentile
from tests.bench.rows import ROWS, load


@pytest.mark.parametrize(
    ("samples", "part", "expected"),
    [
        ([1.0], 0.99, 1.0),
        ([3.0, 1.0, 2.0, 4.0], 0.5, 2.0),
        ([float(n) for n in range(1, 101)], 0.99, 99.0),
        ([float(n) for n in range(1, 101)], 1.0, 100.0),
        ([float(n) for n in range(1, 102)], 0.99, 100.0),
    ],
)
def test_a_percentile_is_the_smallest_sample_that_enough_do_not_exceed(
    samples: list[float], part: float, expected: float
) -> None:
    assert percentile(samples, part) == expected


def test_the_percentile_of_nothing_is_no_number() -> None:
    assert math.isnan(percentile([], 0.5))


def test_a_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    # The machine was half as fast in the third round, for both halves: the ratio does not notice.
    figure = Figure("B0", "x", "/s", [50.0, 60.0, 25.0], RatioAtLeast(0.5), [100.0, 120.0, 50.0])
    assert figure.ratio == 0.5
    assert figure.met


def test_a_constant_raw_limit_counts_in_every_round() -> None:
    assert Figure("B0", "x", "/s", [300.0, 600.0, 900.0], RatioAtLeast(1.7), [300.0]).ratio == 2.0


@pytest.mark.parametrize(
    ("target", "met"),
    [(AtLeast(10), True), (AtLeast(11), False), (AtMost(10), True), (AtMost(9), False), (None, None)],
)
def test_targets_are_held_against_the_median(target: Target | None, met: bool | None) -> None:
    assert Figure("B0", "x", "ms", [1.0, 10.0, 100.0], target).met is met


def test_a_ratio_without_a_raw_limit_is_not_met() -> None:
    assert Figure("B0", "x", "/s", [1.0], RatioAtLeast(0.5)).met is False


def test_the_table_and_the_file_say_value_raw_ratio_and_verdict(tmp_path: Path) -> None:
    figures = [Figure("B0", "things", "/s", [50.0], RatioAtLeast(0.6), [100.0], {"samples": [1, 2]})]
    out = io.StringIO()
    report.show(figures, Console(file=out, width=120))
    for shown in ("B0", "things", "50/s", "100/s", "0.50", "≥ 0.6 × raw", "short"):
        assert shown in out.getvalue()
    report.write(tmp_path / "new" / "one.json", figures, {"rounds": 1})
    stored = json.loads((tmp_path / "new" / "one.json").read_text())
    assert stored["rounds"] == 1
    assert stored["figures"][0]["met"] is False
    assert stored["figures"][0]["details"] == {"samples": [1, 2]}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_can_be_loaded(name: str) -> None:
    row = load(name)
    assert row.about
    assert callable(row.measure)
