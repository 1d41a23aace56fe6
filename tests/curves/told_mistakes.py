"""What a call warns of."""

from __future__ import annotations

import warnings

import dpcore as dp


def told(release, *arguments, **options):
    """What a call warns of, at most one thing, and at the line of the call; None: of nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release(*arguments, **options)
    assert len(caught) <= 1
    for warning in caught:
        assert warning.filename == __file__
        assert warning.category is dp.DpcoreWarning
        return str(warning.message)
    return None
