"""A small honest agent for the bird task that works round after round. FAKE says how well.

improves: it first delivers a slope alone; told that there is no uncertainty, it adds one; then it adds another sample
and loses the uncertainty on the way; told so, it does both. stuck: it changes words. fails: it ends with an error.
works: no feedback needed, it adds what it lacks, one thing a turn. withdraws: it takes back its second finding.
"""

import json
import os
import sys
from pathlib import Path

FIT = """
import csv, random, statistics

def read():
    rows = [r for r in csv.DictReader(open("data/individuals.csv")) if r["bill_length_mm"] and r["bill_depth_mm"]]
    return [(float(r["bill_length_mm"]), float(r["bill_depth_mm"]), r["site"]) for r in rows]

def slope(points):
    return statistics.linear_regression([p[0] for p in points], [p[1] for p in points]).slope

points = read()
"""
PLAIN = """
with open("output/results/fit.csv", "w") as out:
    out.write(f"quantity,slope,n\\npooled,{slope(points):.4f},{len(points)}\\n")
"""
UNCERTAIN = """
def bootstrap_se(points, draws=200):
    rng = random.Random(1)
    return statistics.stdev(slope(rng.choices(points, k=len(points))) for _ in range(draws))

with open("output/results/fit.csv", "w") as out:
    out.write("quantity,slope,slope_se,n\\n")
    out.write(f"pooled,{slope(points):.4f},{bootstrap_se(points):.4f},{len(points)}\\n")
"""
SAMPLES = """
with open("output/results/leave_one_out.csv", "w") as out:
    out.write("left_out_site,slope,n\\n")
    for site in sorted({p[2] for p in points}):
        kept = [p for p in points if p[2] != site]
        out.write(f"{site},{slope(kept):.4f},{len(kept)}\\n")
"""
REPORT = """# Report

## Finding 1: longer bills are shallower where all birds are pooled

Over all measured birds of `data/individuals.csv` bill depth falls with bill length: the slope (mm per mm) stands in
`output/results/fit.csv`, by `output/code/fit.py`.{more}
"""
SECOND = """
## Finding 2: {what}

It is said to follow from `output/results/fit.csv`, by `output/code/fit.py`.
"""


def deliver(*parts, more="", tail=""):
    for name in ("code", "results"):
        Path("output", name).mkdir(parents=True, exist_ok=True)
    Path("output/code/fit.py").write_text(FIT + "".join(parts))
    exec(compile(FIT + "".join(parts), "output/code/fit.py", "exec"), {})  # noqa: S102 - this file's own words
    if SAMPLES in parts:
        more += " Each site left out in turn: `output/results/leave_one_out.csv`."
    Path("output/Result.md").write_text(REPORT.format(more=more) + tail)


def next_parts(fake, feedback):
    code = Path("output/code/fit.py").read_text()
    if fake == "works":
        return (UNCERTAIN, SAMPLES) if UNCERTAIN in code else (UNCERTAIN,)
    if "An earlier try was not taken" in feedback or "Your last changes can't be taken" in feedback:
        return UNCERTAIN, SAMPLES
    return (UNCERTAIN,) if "stability.uncertainty" in feedback else (PLAIN, SAMPLES)


def main():
    fake = os.environ["FAKE"]
    place = Path("FEEDBACK.md")
    feedback = place.read_text() if place.exists() else ""
    if fake == "fails":
        return 3
    if not Path("output/Result.md").exists():
        deliver(PLAIN)
    elif fake == "stuck":
        report = Path("output/Result.md")
        report.write_text(report.read_text() + "\nThis is certain.\n")
    elif fake == "withdraws":
        deliver(PLAIN)
    else:
        deliver(*next_parts(fake, feedback))
    if feedback:
        Path("revision").mkdir(exist_ok=True)
        Path("revision/plan.md").write_text("Mend what FEEDBACK.md lists.\n")
        Path("revision/changes.md").write_text("Done as planned.\n")
    print(json.dumps({"usage": {"in": 1000, "out": 100}}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
