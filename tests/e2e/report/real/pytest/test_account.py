# SPDX-License-Identifier: BSD-2-Clause
import pytest
from measured import is_over


@pytest.fixture(autouse=True)
def in_time():
    if is_over():
        pytest.skip("enough")


@pytest.mark.parametrize("amount", range(400))
def test_pays(in_time, account, amount):
    account["balance"] += amount
    assert account["balance"] == amount + 3
