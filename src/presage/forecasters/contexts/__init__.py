"""The default forecaster: tables in many contexts and regressions on all features, stacked."""
