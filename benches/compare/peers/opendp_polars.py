"""OpenDP with polars: the plan of a lazy frame becomes a private one."""

import loaded
import opendp.prelude as dp
import polars as pl
from worker import serve

dp.enable_features("contrib")
frames = {}
for question, rows in loaded.load().items():
    keys = loaded.ROWS[question][1]
    names = ["u"] + [f"k{i}" for i in range(keys)] + [f"v{i}" for i in range(len(rows[0]) - 1 - keys)]
    frames[question] = (pl.DataFrame(rows, schema=names, orient="row").lazy(), names[1 : 1 + keys], names[1 + keys :])


def answer(question):
    frame, keys, values = frames[question]
    rows, _ = loaded.BOUNDS[question]
    # People have one row each, and nothing is cut; else as many rows of a unit as may be, whatever their groups.
    alone = asks_people(question)
    unit = dp.unit_of(contributions=1) if alone else dp.unit_of(contributions=1, identifier="u")
    margins = [dp.polars.Margin(max_length=10_000_000, max_groups=100_000)]
    loss = dp.loss_of(epsilon=1.0, delta=1e-6)
    context = dp.Context.compositor(data=frame, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=margins)
    query = context.query()
    if not alone:
        query = query.truncate_per_group(loaded.TOTAL.get(question, rows))
    clean = [pl.col(v).fill_null(0.0).fill_nan(0.0) for v in values]
    sums = [x.dp.sum(ends).alias(f"s{i}") for i, (x, ends) in enumerate(zip(clean, ends_of(question)))]
    if question == "Q9":
        return query.select(clean[0].dp.median(candidates=[float(x) for x in range(0, 300001, 50)])).release().collect().rows()
    parts = ([] if question in ("Q2", "Q6") else [dp.len().alias("n")]) + sums
    if keys:
        query = query.group_by(keys).agg(parts)
        if question in loaded.GROUPS:
            public = pl.DataFrame(loaded.GROUPS[question], schema={k: frame.collect_schema()[k] for k in keys}, orient="row")
            query = query.with_keys(public.lazy())
    else:
        query = query.select(parts)
    released = query.release()
    return [shaped(question, row, len(keys)) for row in released.collect().rows()]


def asks_people(question):
    return question in ("Q1", "Q3", "Q4", "Q9")


def ends_of(question):
    return [(float(low), float(high)) for low, high in loaded.RANGES.get(question, [])]


def shaped(question, row, keys):
    """In the order of the plain statement; averages are sums over counts."""
    key, part = list(row[:keys]), list(row[keys:])
    if question == "Q3":
        n, total = part
        return key + [n, total, total / max(n, 1)]
    if question == "Q7":
        return key + part[1:]
    if question == "Q5":
        n, *sums = part
        return key + sums[:4] + [sums[0] / max(n, 1), sums[1] / max(n, 1), sums[4] / max(n, 1), n]
    return key + part


serve(answer)
