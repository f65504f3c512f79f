"""What explains an expected key."""

import pytest
from asked import comparison_of, named


@pytest.fixture
def causes():
    """What explains expected keys: ``causes(expected, **deployment)``."""
    return lambda expected, **deployment: named(comparison_of(expected, **deployment))


@pytest.fixture
def comparison():
    return comparison_of
