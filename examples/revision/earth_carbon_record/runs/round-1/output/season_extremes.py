"""When in the year the concentration is highest and lowest: by year, by six-year block, and over the whole record.

Run from the workspace root. Weekly values minus a cubic spline (a knot every 2 years, fitted together with three
harmonics that drift), as in section 3 of analysis.py; blank weeks are left out, and years with fewer than 45 weeks or a
gap above 6 weeks are dropped. Then two (beside them three) harmonics a year or a block.
"""
import os
SOURCE = os.path.join(os.path.dirname(os.path.relpath(__file__)), "analysis.py")
exec(compile(open(SOURCE).read().split("# ---- 1. trend models")[0], SOURCE, "exec"))
HARM = W_["HARM"]; t, t_abs, y, yr = (W_[k] for k in ("t", "t_abs", "y", "yr"))
knots = np.arange(t_abs.min()+2, t_abs.max()-1, 2.0)-T0
SP = np.column_stack([t**k for k in range(4)] + [np.maximum(t-k, 0)**3 for k in knots]); SP = SP/np.abs(SP).max(0)
b, *_ = np.linalg.lstsq(np.column_stack([SP, HARM, HARM[:, :4]*(t/10)[:, None]]), y, rcond=1e-13)
season = y-SP @ b[:SP.shape[1]]
PH = np.arange(0, 1, 1/3650)
def basis(x, n): return np.column_stack([f(2*np.pi*k*x) for k in range(1, n+1) for f in (np.cos, np.sin)])
def extremes(i, n):
    c = np.linalg.lstsq(np.column_stack([np.ones(i.sum()), basis(t_abs[i], n)]), season[i], rcond=None)[0]
    s = basis(PH, n) @ c[1:]
    return dict(amplitude_ppm=np.ptp(s), day_of_high=PH[s.argmax()]*365.25, day_of_low=PH[s.argmin()]*365.25, high_ppm=s.max(), low_ppm=s.min())
kept = [Y for Y in np.unique(yr) if (yr == Y).sum() >= 45 and np.diff(np.r_[Y, t_abs[yr == Y], Y+1]).max()*52.18 <= 6]
D = pd.DataFrame([dict(year=Y, **extremes(yr == Y, 2)) for Y in kept]); D.round(3).to_csv(f"{R}/season_extremes_yearly.csv", index=False)
def mean_ci(v, L=5, B=4999):
    n = len(v); s = rng.integers(0, n-L+1, (B, int(np.ceil(n/L))))     # moving blocks of five consecutive years
    m = v[(s[:, :, None]+np.arange(L)).reshape(B, -1)[:, :n]].mean(1)
    return np.quantile(m, [.025, .975])
inside = np.isin(yr, kept); rows = []
for n in (2, 3): rows.append(dict(part="1958-1993", harmonics=n, n_years=len(kept), **extremes(inside, n)))
for lo in range(1958, 1994, 6):
    i = inside & (yr >= lo) & (yr <= lo+5); rows.append(dict(part=f"{lo}-{lo+5}", harmonics=2, n_years=len(np.unique(yr[i])), **extremes(i, 2)))
E = pd.DataFrame(rows)
for col in ("amplitude_ppm", "day_of_high", "day_of_low"):
    lo, hi = mean_ci(D[col].values); E.loc[0, f"{col}_yearly_mean"] = D[col].mean(); E.loc[0, f"{col}_ci_low"] = lo; E.loc[0, f"{col}_ci_high"] = hi
E.round(3).to_csv(f"{R}/season_extremes.csv", index=False)
