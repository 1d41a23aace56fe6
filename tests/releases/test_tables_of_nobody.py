"""Whether there are any records is not public where one can be added or removed."""

import numpy as np
import pytest

import dpcore as dp

GRID = dp.TableGrid.uniform((0, 1), (0, 1), (4, 3))


@pytest.mark.parametrize(("x", "y"), [([], []), ([np.nan], [0.5])], ids=["none", "incomplete"])
@pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")
def test_a_mechanism_for_records_that_come_and_go_releases_tables_of_nobody(
    x: list[float], y: list[float]
) -> None:
    mechanism = dp.mechanisms.Histogram(1.0, neighbours="add-or-remove-one")
    released = dp.table(x, y, GRID, mechanism, nan_policy="omit")
    assert released.privacy.neighbours == "add-or-remove-one"
