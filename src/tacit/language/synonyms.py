"""What other systems call our functions: spreadsheets, other databases, statistics packages, textbooks.

A name that is spelt nearly like ours is found by ``closest``; these are the ones that only mean the same, and those
that look more like something else (``cov`` is near ``cos``).
"""

from __future__ import annotations

__all__ = ["SYNONYMS"]

_NAMES = {
    "AVG": "average arithmetic_mean moving_average",
    "SUM": "total",
    "COUNT": "num number rows nrow row_count",
    "COUNT_IF": "countif countifs count_where",
    "STDDEV": "sd stdev stdev_s standard_deviation std_dev stddev_s sigma",
    "STDDEV_POP": "stdevp stdev_p std_pop stddevp sd_pop",
    "VAR_SAMP": "var vars var_s variance_samp",
    "VAR_POP": "varp var_p variance_pop",
    "CORR": "correl correlation pearson cor corrcoef pearson_r",
    "COVAR_POP": "cov covariance covar covariance_pop covar_p covariancep",
    "COVAR_SAMP": "covariance_samp covar_s covariances cov_samp",
    "REGR_SLOPE": "slope regr linreg regression",
    "ENTROPY": "shannon shannon_entropy",
    "INFORMATION_GAIN": "gain mutual_information mutual_info mi infogain info_gain ig",
    "CHI_SQUARE": "chi2 chisq chisquare chi_squared chi",
    "SELF_JOIN_SIZE": "self_join selfjoin second_moment second_frequency_moment f2 repeat_rate",
    "INNER_PRODUCT": "join_size equijoin_size inner_join_size dot dot_product",
    "exp": "exponential",
    "greatest": "largest",
    "least": "smallest",
    "log": "loge natural_log",
    "log2": "ld",
    "log10": "lg",
    "power(x, 2)": "square sqr squared sq",
    "sigmoid": "logistic expit",
    "sqrt": "root square_root sqroot",
    "abs": "magnitude modulus absolute fabs",
}

SYNONYMS: dict[str, str] = {other: ours for ours, others in _NAMES.items() for other in others.split()}
"""What to write instead of a name, by that name in small letters."""
