"""One place for every chart: paper figures as SVG and PNG, and pages that open without a network."""
