"""What the executable code of a source does: calculates an uncertainty, changes the sample, makes two sets, decides."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from .code import Source, Spot
from .columns import Uncertainty, vocabulary
from .keys import SetRole, set_role
from .syntax import bound_names, dotted, dump, is_literal, names_in, numbers_in, parameters

_QUANTILES = vocabulary("percentile nanpercentile quantile nanquantile scoreatpercentile mquantiles prctile")
_INTERVALS = vocabulary(
    "conf_int confint confidence_interval interval proportion_confint bootstrap bootci ppf qt qnorm hdi eti bayes_mvs"
    " tconfint_mean zconfint_mean tconfint_diff summary_frame credible_interval boot.ci"
)
_SPREADS: dict[str, frozenset[Uncertainty]] = {
    **dict.fromkeys(vocabulary("std nanstd stdev pstdev tstd sd mad median_abs_deviation iqr"), frozenset({"sd"})),
    **dict.fromkeys(vocabulary("sem standard_error stderr jackknife_stats"), frozenset({"se"})),
    **dict.fromkeys(vocabulary("var nanvar variance pvariance tvar"), frozenset({"variance"})),
    **dict.fromkeys(vocabulary("cov cov_params vcov"), frozenset({"variance", "se"})),
}
_RESULT_ATTRIBUTES = vocabulary(
    "bse stderr intercept_stderr std_err std_errors standard_errors HC0_se HC1_se HC2_se HC3_se"
)
_NORMAL = frozenset((1.96, 1.959964, 1.95996, 1.95996398, 1.645, 1.6449, 1.64485, 2.576, 2.5758, 2.57583))
_TAILS = frozenset((0.025, 0.975, 0.05, 0.95, 0.005, 0.995))
_SAMPLERS = vocabulary("sample choice resample subsample shuffle_split")
_LEAVE_OUT = vocabulary(
    "LeaveOneOut LeavePOut LeaveOneGroupOut LeavePGroupsOut KFold GroupKFold StratifiedKFold RepeatedKFold ShuffleSplit"
    " GroupShuffleSplit jackknife jackknife_resampling jackknife_stats"
)
_SPLITTERS = vocabulary(
    "train_test_split GroupShuffleSplit StratifiedShuffleSplit TimeSeriesSplit PredefinedSplit createDataPartition"
)
_RANGES = vocabulary("range arange linspace logspace geomspace")
_NUMERIC_LIBRARIES = vocabulary("numpy pandas scipy statsmodels sklearn polars torch jax math statistics")
_OVERLAPS = vocabulary("intersection isdisjoint intersect1d intersect")
_ON_DATA = _QUANTILES | _SPREADS.keys() | {"delete", "setdiff1d"}
_CONTAINERS = vocabulary("array asarray Series DataFrame list tuple set")
_LIGHT_UNCERTAINTY: dict[str, Uncertainty] = {
    **dict.fromkeys(_QUANTILES | _INTERVALS, "interval"),
    **dict.fromkeys(("sd", "std", "stdev", "mad"), "sd"),
    **dict.fromkeys(("sem", "stderror"), "se"),
    **dict.fromkeys(("var", "vcov", "cov"), "variance"),
}


def own_functions(sources: Iterable[Source]) -> frozenset[str]:
    """The functions that these sources define: their names are only names, what they do stands in their bodies."""
    return frozenset(function.name for source in sources for function in source.all(ast.FunctionDef))


def uncertainty_spots(source: Source, own: frozenset[str]) -> Iterator[tuple[frozenset[Uncertainty], Spot]]:
    """Where the code calculates an uncertainty, and of which kinds. Calls of `own` functions show nothing by name."""
    if not source.is_python:
        for name, line in source.calls_by_name.items():
            kind = _LIGHT_UNCERTAINTY.get(name) or _LIGHT_UNCERTAINTY.get(name.rpartition(".")[2])
            if kind is not None:
                yield frozenset({kind}), source.spot_at(line, f"{name}()")
        return
    for call in source.all(ast.Call):
        name = source.called(call)
        shows_nothing = _is_own(call, own) or _on_literals(source, call)
        kinds = frozenset() if shows_nothing else _call_uncertainty(call, name.rpartition(".")[2])
        if kinds:
            yield kinds, source.spot(call, f"{name}()")
    for attribute in source.all(ast.Attribute):
        if attribute.attr in _RESULT_ATTRIBUTES and isinstance(attribute.ctx, ast.Load):
            yield frozenset({"se"}), source.spot(attribute, f".{attribute.attr}")
    for operation in source.all(ast.BinOp):
        if is_literal(operation):
            continue
        numbers = {n.value for n in (operation.left, operation.right) if isinstance(n, ast.Constant)}
        if isinstance(operation.op, ast.Mult | ast.Div) and not _NORMAL.isdisjoint(numbers):
            yield frozenset({"interval"}), source.spot(operation, "a multiple of a standard error")
        elif isinstance(operation.op, ast.Mult) and not _TAILS.isdisjoint(numbers) and _is_index(source, operation):
            yield frozenset({"interval"}), source.spot(operation, "an order statistic in the tail")
    for assign in source.all(ast.Assign):
        if _unpacks_error(source, assign):
            yield frozenset({"se"}), source.spot(assign, "the standard error of a fit")


def _is_own(call: ast.Call, own: frozenset[str]) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in own


def _on_literals(source: Source, call: ast.Call) -> bool:
    """Whether a call works on written-out values only: `np.std([1, 2])`, not `d.quantile(0.025)`.

    A setting such as that of `KFold(5)` or `norm.ppf(0.975)` is no value to work on.
    """
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    func = call.func
    if isinstance(func, ast.Attribute) and dotted(func).partition(".")[0] not in source.imported:
        return _is_written_out(func.value)
    if not given or not all(map(_is_written_out, given)):
        return False
    last = dotted(func).rpartition(".")[2]
    return last in _ON_DATA or any(not isinstance(one, ast.Constant | ast.UnaryOp) for one in given)


def _is_written_out(node: ast.expr) -> bool:
    """Whether a value is a literal, or a series or an array of literals."""
    if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in _CONTAINERS:
        return all(map(is_literal, node.args))
    return is_literal(node)


def _call_uncertainty(call: ast.Call, last: str) -> frozenset[Uncertainty]:
    if last in _QUANTILES:
        asked = [*call.args, *(k.value for k in call.keywords if k.arg in ("q", "p", "probs", "axis"))]
        numbers = [n for argument in asked for n in numbers_in(argument)]
        middle = numbers and set(numbers) <= {50.0, 0.5, 0.0, 1.0}
        return frozenset() if middle and (50.0 in numbers or 0.5 in numbers) else frozenset({"interval"})
    if last in _INTERVALS:
        return frozenset({"interval"})
    if last in _SPREADS:
        return _SPREADS[last]
    if last == "sqrt" and any(
        isinstance(a, ast.Call) and dotted(a.func).endswith("diag") for a in map(_product, call.args)
    ):
        return frozenset({"se", "interval"})
    for keyword in call.keywords:
        if keyword.arg in ("return_std", "return_cov", "cov") and getattr(keyword.value, "value", None) is True:
            return frozenset({"se", "sd", "variance"})
    return frozenset()


def _product(node: ast.expr) -> ast.expr:
    """The first factor of a product, for `np.sqrt(np.diag(cov) * s2)`."""
    while isinstance(node, ast.BinOp):
        node = node.left
    return node


def _is_index(source: Source, node: ast.AST) -> bool:
    for around in source.ancestors(node):
        if isinstance(around, ast.Subscript):
            return True
        if isinstance(around, ast.stmt):
            return False
    return False


def _unpacks_error(source: Source, assign: ast.Assign) -> bool:
    """`slope, intercept, r, p, se = linregress(...)`."""
    return (
        isinstance(assign.value, ast.Call)
        and dotted(assign.value.func).endswith("linregress")
        and any(isinstance(target, ast.Tuple) and len(target.elts) == 5 for target in assign.targets)
    )


# ---- changed samples


def sample_spots(source: Source, own: frozenset[str], once: bool) -> Iterator[Spot]:
    """Where the code leaves members out of the sample or draws fewer of them; a bootstrap is not among them.

    Calls of `own` functions show nothing by name. `once`: a filter counts too that leaves out one fixed part, which
    may be mere cleaning.
    """
    if not source.is_python:
        yield from _light_sample_spots(source)
        return
    for call in source.all(ast.Call):
        last = source.called(call).rpartition(".")[2]
        varied = source.varied_names(call)
        first = call.args[0] if call.args else None
        keywords = {k.arg: k.value for k in call.keywords}
        if _is_own(call, own) or _on_literals(source, call):
            continue
        if last in _LEAVE_OUT:
            yield source.spot(call, f"{last}()")
        elif last == "delete" and len(call.args) > 1:
            yield source.spot(call, "delete()")
        elif (
            last == "drop"
            and first is not None
            and names_in(first) & varied
            and not {"columns", "axis"} & set(keywords)
        ):
            yield source.spot(call, "drop() of a varied member")
        elif last == "ne" and first is not None and names_in(first) & varied:
            yield source.spot(call, "a filter that leaves members out")
        elif last == "setdiff1d" or (last in _SAMPLERS and _draws_fewer(keywords)):
            yield source.spot(call, f"{last}()")
    for compare in source.all(ast.Compare):
        if _filters_out(source, compare, once):
            yield source.spot(compare, "a filter that leaves members out")
    for inverted in source.all(ast.UnaryOp):
        if not isinstance(inverted.op, ast.Invert):
            continue
        is_mask = isinstance(inverted.operand, ast.Call)
        if isinstance(inverted.operand, ast.BinOp) and names_in(inverted.operand) & source.varied_names(inverted):
            yield source.spot(inverted, "a mask that leaves a varied part out")
        if is_mask and dotted(inverted.operand.func).endswith("isin") and _is_index(source, inverted):  # type: ignore[attr-defined]
            yield source.spot(inverted, "a filter that leaves members out")
    for assign in source.all(ast.Assign):
        target = assign.targets[0]
        is_false = isinstance(assign.value, ast.Constant) and assign.value.value is False
        if is_false and isinstance(target, ast.Subscript) and names_in(target.slice) & source.varied_names(assign):
            yield source.spot(assign, "a mask that leaves a varied member out")
    for joined in source.all(ast.BinOp):
        if isinstance(joined.op, ast.Add) and _skips_one(joined):
            yield source.spot(joined, "slices around a left-out member")


def filter_spots(source: Source) -> Iterator[Spot]:
    """Where the code picks part of the sample by a comparison, `d[d.year >= lo]`, or by groups."""
    for compare in source.all(ast.Compare):
        if _is_index(source, compare):
            yield source.spot(compare, "a filter that picks part of the sample")
    for call in source.all(ast.Call):
        if dotted(call.func).rpartition(".")[2] in ("groupby", "query"):
            yield source.spot(call, f"{dotted(call.func).rpartition('.')[2]}()")


def _draws_fewer(keywords: dict[str | None, ast.expr]) -> bool:
    replaced = keywords.get("replace")
    if replaced is not None:
        return isinstance(replaced, ast.Constant) and replaced.value is False
    return "frac" in keywords


def _filters_out(source: Source, compare: ast.Compare, once: bool) -> bool:
    """`d[d.unit != u]`, `[v for k, v in rows if k != u]`, or `(year < lo) | (year > hi)`, all with a varied `u`."""
    varied = source.varied_names(compare)
    if not any(isinstance(op, ast.NotEq | ast.IsNot | ast.NotIn) for op in compare.ops):
        around = source.parent(compare)
        both = isinstance(around, ast.BinOp) and isinstance(around.op, ast.BitOr)
        return both and bool(names_in(compare) & varied) and any(isinstance(op, ast.Lt | ast.LtE) for op in compare.ops)
    if not names_in(compare) & varied:
        return once and _is_index(source, compare)
    around = source.parent(compare)
    filtered = isinstance(around, ast.comprehension) and compare in around.ifs
    masked = isinstance(around, ast.Assign | ast.BinOp | ast.keyword)
    return filtered or masked or _is_index(source, compare)


def _skips_one(joined: ast.BinOp) -> bool:
    """`x[:i] + x[i + 1:]`."""
    left, right = joined.left, joined.right
    if not (isinstance(left, ast.Subscript) and isinstance(right, ast.Subscript)):
        return False
    first, second = left.slice, right.slice
    if not isinstance(first, ast.Slice) or not isinstance(second, ast.Slice) or not first.upper or not second.lower:
        return False
    parts = [dump(part) for part in (left.value, right.value, first.upper, second.lower)]
    if None in parts:
        return False
    one, other, upper, lower = map(str, parts)
    return one == other and upper in lower


def _light_sample_spots(source: Source) -> Iterator[Spot]:
    for match in re.finditer(r"\[\s*-\s*[A-Za-z]\w*\s*[,\]]|\[[^\[\]\n]{0,80}!=[^\[\]\n]{0,80}\]", source.bare_code):
        yield source.spot_at(source.bare_line(match.start()), "an index that leaves members out")
    for name, line in source.calls_by_name.items():
        if name.rpartition(".")[2] in ("jackknife", "setdiff", "deleteat", "LOOCV", "leaveoneout"):
            yield source.spot_at(line, f"{name}()")


# ---- methods


def is_numeric_work(source: Source) -> bool:
    """Whether the source calculates: imports a numeric library, or does arithmetic in a loop of another language."""
    if not source.is_python:
        return bool(source.calls_by_name)
    roots = {module.partition(".")[0] for module in source.modules}
    return not roots.isdisjoint(_NUMERIC_LIBRARIES)


def literal_spots(source: Source, labels: Sequence[str], numbers: set[float]) -> dict[str | float, Spot]:
    """Which of these labels and numbers the code writes out: as strings, keyword names, or numbers in a collection."""
    found: dict[str | float, Spot] = {}
    for text in source.strings:
        for label in labels:
            if label not in found and text.gives(label):
                found[label] = source.spot_at(text.line, f"the label {label!r}", text.column)
    if not source.is_python:
        return found
    for keyword in source.all(ast.keyword):
        if keyword.arg in labels:
            found.setdefault(str(keyword.arg), source.spot(keyword.value, f"the label {keyword.arg!r}"))
    collections: list[ast.Tuple | ast.List] = [*source.all(ast.Tuple), *source.all(ast.List)]
    for collection in collections:
        written = numbers.intersection(numbers_in(collection)) if isinstance(collection.ctx, ast.Load) else set()
        if len(written) > 1:
            spot = source.spot(collection, f"{len(written)} settings in a collection")
            found = {**dict.fromkeys(written, spot), **found}
    for call in source.all(ast.Call):
        is_range = dotted(call.func).rpartition(".")[2] in _RANGES
        if is_range and numbers and isinstance(source.parent(call), ast.For | ast.comprehension):
            found = {**dict.fromkeys(numbers, source.spot(call, "a range of settings")), **found}
    return found


# ---- two sets


def set_spots(source: Source) -> dict[SetRole, Spot]:
    """Where the code makes or loads a set that forms the claim, and one that checks it: names, labels, splitters."""
    found: dict[SetRole, Spot] = {}
    if not source.is_python:
        for match in re.finditer(r"(?<![\w.])([A-Za-z_][\w.]*+)\s*+(?:<-|=(?!=)|:=)", source.bare_code):
            role = set_role(match[1], in_code=True)
            if role is not None:
                line = source.bare_line(match.start())
                found.setdefault(role, source.spot_at(line, f"the set {match[1]}"))
        return found
    for name, node in _bindings(source):
        role = set_role(name, in_code=True)
        if role is not None:
            found.setdefault(role, source.spot(node, f"the set {name}"))
            if role == "form" and "check" not in found and (inverse := _inverse_of(source, name)) is not None:
                found["check"] = source.spot(inverse, f"the set outside {name}")
    for call in source.all(ast.Call):
        if dotted(call.func).rpartition(".")[2] in _SPLITTERS:
            found = {"form": source.spot(call, "a split"), "check": source.spot(call, "a split"), **found}
    for text in source.strings:
        role = set_role(text.value) if text.value and len(text.value) <= 30 else None
        if role is not None:
            found.setdefault(role, source.spot_at(text.line, f"the label {text.value!r}", text.column))
    return found


def _bindings(source: Source) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    for assign in source.all(ast.Assign):
        if isinstance(assign.value, ast.Constant) and assign.value.value is None:
            continue
        for target in assign.targets:
            for name in sorted(bound_names(target)) if isinstance(target, ast.Name | ast.Tuple | ast.List) else ():
                yield name, assign
    for loop in source.all(ast.For):
        for name in sorted(bound_names(loop.target)):
            yield name, loop
    for function in source.all(ast.FunctionDef):
        for name in sorted(parameters(function)):
            yield name, function


def _inverse_of(source: Source, name: str) -> ast.expr | None:
    """Where `~name` stands: the rows outside the mask `name`."""
    for node in source.all(ast.UnaryOp):
        if isinstance(node.op, ast.Invert) and isinstance(node.operand, ast.Name) and node.operand.id == name:
            return node
    return None


def complement_spot(source: Source) -> Spot | None:
    """Where the code takes a part and all the rest: `d[d.unit != u]` beside `d[d.unit == u]`, the rows outside limits
    beside those inside, `d.drop(part.index)`, `setdiff1d`."""
    outside: dict[str, ast.Compare] = {}
    inside: set[str] = set()
    for compare in source.all(ast.Compare):
        if len(compare.ops) == 1 and _is_index(source, compare):
            sides = dump(compare.left), dump(compare.comparators[0])
            if None in sides:
                continue
            key = "".join(map(str, sides))
            around = source.parent(compare)
            either = isinstance(around, ast.BinOp) and isinstance(around.op, ast.BitOr)
            if isinstance(compare.ops[0], ast.NotEq) or either:
                outside[key] = compare
            else:
                inside.add(key)
    found = next((compare for key, compare in outside.items() if key in inside), None)
    if found is not None:
        return source.spot(found, "a part and all the rest")
    for call in source.all(ast.Call):
        last = dotted(call.func).rpartition(".")[2]
        by_index = (
            last == "drop" and call.args and isinstance(call.args[0], ast.Attribute) and call.args[0].attr == "index"
        )
        if by_index or last == "setdiff1d":
            return source.spot(call, "all but a part")
    return None


def overlap_spot(source: Source) -> Spot | None:
    """Where the code calculates what two collections share."""
    for call in source.all(ast.Call):
        last = dotted(call.func).rpartition(".")[2]
        if last in _OVERLAPS:
            return source.spot(call, f"{last}()")
    for operation in source.all(ast.BinOp):
        sides = (operation.left, operation.right)
        if isinstance(operation.op, ast.BitAnd) and all(
            isinstance(s, ast.Call) and dotted(s.func) == "set" for s in sides
        ):
            return source.spot(operation, "an intersection of sets")
    for name in ("intersect", "isdisjoint"):
        if name in (source.calls_by_name if not source.is_python else {}):
            return source.spot_at(source.calls_by_name[name], f"{name}()")
    return None
