"""The same error on the training years and on the years kept aside, for trends and for the yearly amplitude.

Run from the workspace root, after output/analysis.py. Definitions (data, designs, covariance, fits) are those of
analysis.py, read from it up to its first section, so that the models are the same. Nothing is refitted on years kept aside.
"""
import os
SOURCE = os.path.join(os.path.dirname(os.path.relpath(__file__)), "analysis.py")
exec(compile(open(SOURCE).read().split("# ---- 1. trend models")[0], SOURCE, "exec"))
names = ["constant", "linear", "quadratic", "cubic", "segmented1", "exponential"]
ALL = np.arange(len(y)); old = pd.read_csv(f"{R}/trend_holdout.csv").set_index(["kind", "test_block", "trend"])
rows = []
def rmse(e): return float(np.sqrt((e**2).mean()))
def fold(kind, train, heldout, label):
    th = fit("quadratic", train)["th"]                     # covariance from training years only
    for nm in names:
        m = fit(nm, train, "drift", th)
        a, b = rmse(y[train]-predict(nm, m, train)), rmse(y[heldout]-predict(nm, m, heldout))
        rows.append(dict(kind=kind, heldout_years=label, train_years=years(train), trend=nm, n_train=len(train), n_heldout=len(heldout),
            train_rmse=a, heldout_rmse=b, ratio=b/a, heldout_rmse_before=old.loc[(kind, label, nm), "rmse"]))
def years(i):
    u = np.unique(yr[i]); cuts = np.flatnonzero(np.diff(u) > 1)
    return "+".join(f"{p[0]}-{p[-1]}" for p in np.split(u, cuts+1))
for lo in range(1958, 1994, 6):
    inside = (yr >= lo) & (yr <= lo+5)
    fold("leave_block_out", ALL[~inside], ALL[inside], f"{lo}-{lo+5}")
    if lo >= 1976: fold("forward", ALL[yr < lo], ALL[inside], f"{lo}-{lo+5}")
T = pd.DataFrame(rows); T.round(4).to_csv(f"{R}/train_heldout_trend.csv", index=False)
print("largest difference to trend_holdout.csv:", (T.heldout_rmse-T.heldout_rmse_before).abs().max())
S = pd.read_csv(f"{R}/season_yearly.csv"); rows = []
for col in ("amplitude_ppm", "down_cross_day"):
    for first, last in ((1982, 1987), (1988, 1993)):
        train, heldout = S[S.year <= 1981], S[(S.year >= first) & (S.year <= last)]
        for shape, degree in (("constant", 0), ("linear", 1)):
            b = np.polyfit(train.year-1976, train[col], degree)
            e = [D[col].values-np.polyval(b, D.year-1976) for D in (train, heldout)]
            rows.append(dict(measure=col, shape=shape, train_years=f"{train.year.min()}-1981", heldout_years=f"{first}-{last}",
                n_train=len(train), n_heldout=len(heldout), train_rmse=rmse(e[0]), heldout_rmse=rmse(e[1])))
pd.DataFrame(rows).round(4).to_csv(f"{R}/train_heldout_season.csv", index=False)
