"""How good forecasts are: losses, regret and its parts, bounds, calibration, ranking, intervals."""

from typing import TYPE_CHECKING

from presage.facade import facade

if TYPE_CHECKING:
    from presage.metrics.bootstrap import bootstrap_differences, bootstrap_mean, bootstrap_means
    from presage.metrics.bounds import direct_bound, drift_bound, factored_bound, laplace_bound, quoted_lower_bound
    from presage.metrics.calibration import Reliability, calibration_error, predicted_to_observed, reliability
    from presage.metrics.intervals import (
        Estimate,
        Interval,
        log_slope_interval,
        mean_interval,
        mean_intervals,
        ratio_interval,
    )
    from presage.metrics.losses import (
        Split,
        best_static_losses,
        factorisation_bias,
        log_loss,
        regret,
        rounds_to_recover,
        split_regret,
    )
    from presage.metrics.proxy_information import Information, information
    from presage.metrics.ranking import auc, auc_of_each, average_precision, mean_average_precision, ndcg

__all__ = [
    "Estimate",
    "Information",
    "Interval",
    "Reliability",
    "Split",
    "auc",
    "auc_of_each",
    "average_precision",
    "best_static_losses",
    "bootstrap_differences",
    "bootstrap_mean",
    "bootstrap_means",
    "calibration_error",
    "direct_bound",
    "drift_bound",
    "factored_bound",
    "factorisation_bias",
    "information",
    "laplace_bound",
    "log_loss",
    "log_slope_interval",
    "mean_average_precision",
    "mean_interval",
    "mean_intervals",
    "ndcg",
    "predicted_to_observed",
    "quoted_lower_bound",
    "ratio_interval",
    "regret",
    "reliability",
    "rounds_to_recover",
    "split_regret",
]

__getattr__, __dir__ = facade(
    __name__,
    {
        "Estimate": "presage.metrics.intervals",
        "Information": "presage.metrics.proxy_information",
        "Interval": "presage.metrics.intervals",
        "Reliability": "presage.metrics.calibration",
        "Split": "presage.metrics.losses",
        "auc": "presage.metrics.ranking",
        "auc_of_each": "presage.metrics.ranking",
        "average_precision": "presage.metrics.ranking",
        "best_static_losses": "presage.metrics.losses",
        "bootstrap_differences": "presage.metrics.bootstrap",
        "bootstrap_mean": "presage.metrics.bootstrap",
        "bootstrap_means": "presage.metrics.bootstrap",
        "calibration_error": "presage.metrics.calibration",
        "direct_bound": "presage.metrics.bounds",
        "drift_bound": "presage.metrics.bounds",
        "factored_bound": "presage.metrics.bounds",
        "factorisation_bias": "presage.metrics.losses",
        "information": "presage.metrics.proxy_information",
        "laplace_bound": "presage.metrics.bounds",
        "log_loss": "presage.metrics.losses",
        "log_slope_interval": "presage.metrics.intervals",
        "mean_average_precision": "presage.metrics.ranking",
        "mean_interval": "presage.metrics.intervals",
        "mean_intervals": "presage.metrics.intervals",
        "ndcg": "presage.metrics.ranking",
        "predicted_to_observed": "presage.metrics.calibration",
        "quoted_lower_bound": "presage.metrics.bounds",
        "ratio_interval": "presage.metrics.intervals",
        "regret": "presage.metrics.losses",
        "reliability": "presage.metrics.calibration",
        "rounds_to_recover": "presage.metrics.losses",
        "split_regret": "presage.metrics.losses",
    },
)
