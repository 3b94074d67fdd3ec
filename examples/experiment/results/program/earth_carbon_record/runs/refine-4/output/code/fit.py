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

def bootstrap_se(points, draws=100):
    rng = random.Random(1)
    return statistics.stdev(slope(rng.choices(points, k=len(points))) for _ in range(draws))


with open("output/results/uncertainty.csv", "w") as out:
    out.write("quantity,slope,slope_se\n")
    out.write(f"pooled,{slope(points):.5f},{bootstrap_se(points):.5f}\n")

with open("output/results/leave_one_out.csv", "w") as out:
    out.write("left_out_group,slope,n\n")
    for group in sorted({p[2] for p in points}):
        kept = [p for p in points if p[2] != group]
        out.write(f"{group},{slope(kept):.5f},{len(kept)}\n")

with open("output/results/repeats.csv", "w") as out:
    out.write("seed,slope\n")
    for seed in (1, 2, 3):
        rng = random.Random(seed)
        out.write(f"{seed},{slope(rng.choices(points, k=len(points))):.5f}\n")

def median_slope(points, pairs=4000):
    rng = random.Random(2)
    found = []
    for _ in range(pairs):
        a, b = rng.sample(points, 2)
        if a[0] != b[0]:
            found.append((b[1] - a[1]) / (b[0] - a[0]))
    return statistics.median(found)


with open("output/results/methods.csv", "w") as out:
    out.write("method,slope\n")
    for method, fit in {"least_squares": slope, "median_of_pairs": median_slope}.items():
        out.write(f"{method},{fit(points):.5f}\n")
