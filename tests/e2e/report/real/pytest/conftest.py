# SPDX-License-Identifier: BSD-2-Clause
import pytest
from measured import measured

import helpers


@pytest.fixture
def account():
    with measured:
        helpers.step()
    return {"balance": 3}
