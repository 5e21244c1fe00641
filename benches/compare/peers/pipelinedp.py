"""PipelineDP over Python's own lists."""

import loaded
import pipeline_dp as pdp
from worker import serve

tables = loaded.load()
METRICS = {
    "Q1": ["privacy_id_count"], "Q2": ["sum"], "Q3": ["count", "sum", "mean"], "Q4": ["privacy_id_count"], "Q6": ["sum"], "Q7": ["sum"],
    "Q8": ["privacy_id_count"], "Q9": ["percentile_50"], "Q10": ["count", "sum"],
}  # fmt: skip


def answer(question):
    keys = loaded.ROWS[question][1]
    ends = loaded.RANGES.get(question, [(0, 1)])
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-6)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    rows, groups = loaded.BOUNDS[question]
    found = []
    # It takes one value of a row: several are several aggregations under one accountant, of which the first counts.
    for i, (low, high) in enumerate(ends):
        names = METRICS.get(question, ["count", "sum"] if i == 0 else ["sum"])
        kinds = {"sum": pdp.Metrics.SUM, "count": pdp.Metrics.COUNT, "mean": pdp.Metrics.MEAN, "percentile_50": pdp.Metrics.PERCENTILE(50)}
        bounds = {"min_value": low, "max_value": high, "max_contributions_per_partition": rows}
        parameters = pdp.AggregateParams(
            metrics=[kinds.get(name, pdp.Metrics.PRIVACY_ID_COUNT) for name in names],
            noise_kind=pdp.NoiseKind.GAUSSIAN if groups > 1 else pdp.NoiseKind.LAPLACE,
            max_partitions_contributed=groups,
            **(bounds if names != ["privacy_id_count"] else {"max_contributions_per_partition": 1}),
        )
        extractors = pdp.DataExtractors(
            privacy_id_extractor=lambda r: r[0],
            partition_extractor=lambda r: r[1 : 1 + keys],
            value_extractor=lambda r, i=i: r[1 + keys + i] if len(r) > 1 + keys else 0,
        )
        public = [()] if keys == 0 else loaded.GROUPS.get(question)
        found.append((names, engine.aggregate(tables[question], parameters, extractors, public_partitions=public)))
    accountant.compute_budgets()
    columns = {}
    for names, result in found:
        for key, metrics in result:
            columns.setdefault(key, []).extend(getattr(metrics, name) for name in names)
    return [list(key) + shaped(question, part) for key, part in columns.items()]


def shaped(question, part):
    if question != "Q5":
        return part
    n, *sums = part
    return sums[:4] + [sums[0] / max(n, 1), sums[1] / max(n, 1), sums[4] / max(n, 1), n]


serve(answer)
