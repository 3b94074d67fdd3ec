"""Statistics over cohorts: paired by task, in points of 0..100, silent where the data do not decide.

Every function is pure and takes floats by task (or by system and task). Input that leaves a question open (one task, no
shared task, scores that are all equal, NaN) gives a result whose open fields are None, with the reason in words; only
a parameter out of place raises ValueError. numpy and scipy are imported on first use.
"""

from __future__ import annotations

from .agreement import Estimate, KappaGain, RaterAgreement, kappa_gain, krippendorff_alpha, prevalence, rater_agreement
from .base import Cohort, Paired, Scores, pair, shared_tasks
from .components import Component, Components, smallest_difference, tasks_needed, variance_components
from .correlation import Correlation, Difficulty, correlate, difficulty
from .gains import MeanGain, mean_gain
from .intervals import Bounds, IntervalComparison, certain_leader, compare_intervals, rank_ranges
from .noninferiority import NonInferiority, non_inferiority
from .paired import (
    Comparisons,
    Equivalence,
    Holm,
    MeanDifference,
    PairComparison,
    Wilcoxon,
    compare_pairs,
    equivalence,
    holm,
    mean_difference,
    wilcoxon,
)
from .ranking import (
    LeaveOut,
    Order,
    OrderComparison,
    compare_orders,
    leave_out,
    order_of,
    system_means,
)
from .repeats import DifferenceNoise, RepeatVariance, Runs, difference_noise, repeat_variance
from .summary import Leads, MeanInterval, ScoreRange, bootstrap_interval, score_range, t_interval, task_leads
from .weights import Rates, WeightSensitivity, weight_sensitivity
from .yields import RankQuality, ScoredRun, SystemYield, YieldAnalysis, yield_analysis

__all__ = [
    "Bounds",
    "Cohort",
    "Comparisons",
    "Component",
    "Components",
    "Correlation",
    "DifferenceNoise",
    "Difficulty",
    "Equivalence",
    "Estimate",
    "Holm",
    "IntervalComparison",
    "KappaGain",
    "Leads",
    "LeaveOut",
    "MeanDifference",
    "MeanGain",
    "MeanInterval",
    "NonInferiority",
    "Order",
    "OrderComparison",
    "PairComparison",
    "Paired",
    "RankQuality",
    "RaterAgreement",
    "Rates",
    "RepeatVariance",
    "Runs",
    "ScoreRange",
    "ScoredRun",
    "Scores",
    "SystemYield",
    "WeightSensitivity",
    "Wilcoxon",
    "YieldAnalysis",
    "bootstrap_interval",
    "certain_leader",
    "compare_intervals",
    "compare_orders",
    "compare_pairs",
    "correlate",
    "difference_noise",
    "difficulty",
    "equivalence",
    "holm",
    "kappa_gain",
    "krippendorff_alpha",
    "leave_out",
    "mean_difference",
    "mean_gain",
    "non_inferiority",
    "order_of",
    "pair",
    "prevalence",
    "rank_ranges",
    "rater_agreement",
    "repeat_variance",
    "score_range",
    "shared_tasks",
    "smallest_difference",
    "system_means",
    "t_interval",
    "task_leads",
    "tasks_needed",
    "variance_components",
    "weight_sensitivity",
    "wilcoxon",
    "yield_analysis",
]
