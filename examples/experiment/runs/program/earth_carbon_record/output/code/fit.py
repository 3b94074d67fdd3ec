import csv, random, statistics
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

with open("output/results/fit.csv", "w") as out:
    out.write(f"quantity,slope,n\npooled,{slope(points):.5f},{len(points)}\n")
