"""The order in which balancing asks sites."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.protocols.policies import POLICIES, LeastRecentlyUsed, MostOpposite, policy_named
from tacit.vocabulary import OptionError

GROUP = np.array([0])
ALL = np.ones((3, 1), dtype=bool)
MASS = np.array([[1.0]])


@pytest.mark.parametrize("name", POLICIES)
def test_only_candidates_are_chosen_even_among_sites_that_joined_later(name):
    policy = policy_named(name, sites=2, groups=4, dimension=1, rng=np.random.default_rng(3))
    groups = np.array([1, 3])
    candidates = np.zeros((6, 2), dtype=bool)
    candidates[5, 0] = candidates[2, 1] = True
    assert policy.choose(groups, candidates, np.ones((2, 1))).tolist() == [5, 2]


def test_the_least_recently_used_site_comes_first():
    policy = LeastRecentlyUsed(3, 1)
    policy.took_part(0, GROUP, MASS)
    policy.took_part(1, GROUP, MASS)
    assert policy.choose(GROUP, ALL, MASS).tolist() == [2]
    policy.took_part(2, GROUP, MASS)
    assert policy.choose(GROUP, ALL, MASS).tolist() == [0]


def test_the_most_opposite_site_comes_first():
    policy = MostOpposite(3, 1, 1)
    for site, mass in enumerate([1.0, -2.0, -1.0]):
        policy.took_part(site, GROUP, np.array([[mass]]))
    assert policy.choose(GROUP, ALL, MASS).tolist() == [1]
    assert policy.choose(GROUP, ALL, -MASS).tolist() == [0]


def test_an_unknown_policy_is_refused_with_the_known_ones():
    with pytest.raises(OptionError, match="lru, opposite, random"):
        policy_named("best", sites=1, groups=1, dimension=1, rng=np.random.default_rng(0))
