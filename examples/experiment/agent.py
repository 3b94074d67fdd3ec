"""A program in the place of an agent: it fits a line, and adds the tests that it is told of, or happens to think of.

It shows how the arms of an experiment differ; it knows nothing of science, and no model answers. It can do four things
(uncertainty, other samples, other methods, repeats), one a turn where the table is long, two where it is short. Told of
a rubric or of failed tests, it does those that are named; told nothing, it follows an order of its own.
"""

import csv
import json
import runpy
import sys
from pathlib import Path

READ = '''import csv, random, statistics
from pathlib import Path


def read():
    """x, y and a group for each row of the task's table."""
    rows = list(csv.DictReader(next(iter(sorted(Path("data").glob("*.csv")))).open()))
    if "co2_ppm" in rows[0]:
        kept = [r for r in rows if r["co2_ppm"]]
        years = [int(r["date"][:4]) + (int(r["date"][5:7]) - 0.5) / 12 for r in kept]
        return [(x, float(r["co2_ppm"]), r["date"][:3] + "0s") for x, r in zip(years, kept)]
    kept = [r for r in rows if r["bill_length_mm"] and r["bill_depth_mm"]]
    return [(float(r["bill_length_mm"]), float(r["bill_depth_mm"]), r["site"]) for r in kept]


def slope(points):
    return statistics.linear_regression([p[0] for p in points], [p[1] for p in points]).slope


points = read()
'''
PARTS = {
    "uncertainty": """
def bootstrap_se(points, draws=100):
    rng = random.Random(1)
    return statistics.stdev(slope(rng.choices(points, k=len(points))) for _ in range(draws))


with open("output/results/uncertainty.csv", "w") as out:
    out.write("quantity,slope,slope_se\\n")
    out.write(f"pooled,{slope(points):.5f},{bootstrap_se(points):.5f}\\n")
""",
    "samples": """
with open("output/results/leave_one_out.csv", "w") as out:
    out.write("left_out_group,slope,n\\n")
    for group in sorted({p[2] for p in points}):
        kept = [p for p in points if p[2] != group]
        out.write(f"{group},{slope(kept):.5f},{len(kept)}\\n")
""",
    "methods": """
def median_slope(points, pairs=4000):
    rng = random.Random(2)
    found = []
    for _ in range(pairs):
        a, b = rng.sample(points, 2)
        if a[0] != b[0]:
            found.append((b[1] - a[1]) / (b[0] - a[0]))
    return statistics.median(found)


with open("output/results/methods.csv", "w") as out:
    out.write("method,slope\\n")
    for method, fit in {"least_squares": slope, "median_of_pairs": median_slope}.items():
        out.write(f"{method},{fit(points):.5f}\\n")
""",
    "repeats": """
with open("output/results/repeats.csv", "w") as out:
    out.write("seed,slope\\n")
    for seed in (1, 2, 3):
        rng = random.Random(seed)
        out.write(f"{seed},{slope(rng.choices(points, k=len(points))):.5f}\\n")
""",
}
FIT = """
with open("output/results/fit.csv", "w") as out:
    out.write(f"quantity,slope,n\\npooled,{slope(points):.5f},{len(points)}\\n")
"""
NAMED = {
    "uncertainty": "an uncertainty",
    "samples": "samples",
    "methods": "methods",
    "repeats": "repeats",
}
FILES = {
    "uncertainty": "`output/results/uncertainty.csv`",
    "samples": "`output/results/leave_one_out.csv`",
    "methods": "`output/results/methods.csv`",
    "repeats": "`output/results/repeats.csv`",
}
OWN_ORDER = ("repeats", "uncertainty", "samples", "methods")


def has(part, code):
    return PARTS[part] in code


def wanted(code, told):
    """What it lacks of what it is told of, in the order of the text; without a text, in an order of its own."""
    order = sorted(PARTS, key=lambda part: told.find(NAMED[part])) if told else OWN_ORDER
    return [part for part in order if not has(part, code) and (not told or NAMED[part] in told)]


def main():
    told = "".join(Path(name).read_text() for name in ("GUIDE.md", "FEEDBACK.md") if Path(name).exists())
    source = Path("output/code/fit.py")
    code = source.read_text() if source.exists() else ""
    rows = sum(1 for path in Path("data").glob("*.csv") for _ in csv.reader(path.open()))
    parts = [part for part in PARTS if has(part, code)]
    if code:
        parts += wanted(code, told)[: 1 if rows > 1000 else 2]
    for name in ("code", "results"):
        Path("output", name).mkdir(parents=True, exist_ok=True)
    source.write_text(READ + FIT + "".join(PARTS[part] for part in parts))
    runpy.run_path(str(source))
    more = "".join(f" The {part} stand in {FILES[part]}." for part in parts)
    data = next(iter(sorted(Path("data").glob("*.csv")))).as_posix()
    Path("output/Result.md").write_text(
        "# Report\n\n## Finding 1: the two quantities of the table change together along a line\n\n"
        f"Over all measured rows of `{data}` the slope stands in `output/results/fit.csv`, "
        f"by `output/code/fit.py`.{more}\n"
    )
    read = sum(len(Path(name).read_text()) for name in ("PROMPT.md", "CONTRACT.md", "objective.md")) + len(told)
    print(json.dumps({"usage": {"in": read // 4, "out": len(source.read_text()) // 4}}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
