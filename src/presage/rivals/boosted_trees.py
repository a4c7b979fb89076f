"""LightGBM as a rival: boosted trees with regularised settings, retrained on a schedule."""

from typing import Any

from presage.extras import extras_named
from presage.rivals.feature_matrix import FeatureMatrix
from presage.rivals.rival import Rival
from presage.rivals.scheduled_training import TIMES, Predict, retrained_rival, schedule
from presage.spaces import Array

SETTINGS: dict[str, Any] = {
    "objective": "multiclass",
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 50,
    "lambda_l2": 50.0,
    "max_bin": 127,
    "feature_fraction": 0.8,
    "cat_smooth": 50.0,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}
"""Regularised: with the defaults of the library, which suit far more and far less noisy rows, it is worse than that.

One thread: on a machine that is busy with other work, several wait for each other."""

TREES = 100


def lightgbm(
    *,
    every: str | None = None,
    times: int = TIMES,
    factored: bool = False,
    name: str | None = None,
    **settings: Any,
) -> Rival:
    """LightGBM, retrained on a schedule on all that is known by then.

    Categories of few values are categories, the identity and categories of many values are described by how often each
    outcome came to a value, among what was known before the row was shown.

    Args:
        every: How far apart trainings are, such as "7 days".
        times: How many there are over the log, where `every` is left out.
        factored: Whether one model learns h(z|x) from known proxies and another g(y|x,z) from known outcomes.
        name: What tables call it.
        **settings: LightGBM's own, in the place of the regularised ones; `num_iterations` is how many trees there are.

    >>> lightgbm(every="7 days", num_leaves=31).name
    'lightgbm'
    """

    def fit(matrix: FeatureMatrix, classes: Array, size: int, seed: int) -> Predict:
        with extras_named():
            import lightgbm as library  # noqa: PLC0415 an extra

        used = SETTINGS | {"num_class": size, "seed": seed} | settings
        rounds = int(used.pop("num_iterations", TREES))
        data = library.Dataset(matrix.values, classes, categorical_feature=list(matrix.categories), free_raw_data=True)
        model = library.train(used, data, rounds)
        predict: Predict = model.predict
        return predict

    called = ("lightgbm-factored" if factored else "lightgbm") if name is None else name
    return retrained_rival(called, fit, schedule(times, every), one_hot=False, factored=factored)
