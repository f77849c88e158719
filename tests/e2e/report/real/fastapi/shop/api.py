# SPDX-License-Identifier: BSD-2-Clause
import fastapi
import pydantic
from measured import measured

from shop import helpers

app = fastapi.FastAPI()


class Quote(pydantic.BaseModel):
    item: str
    price: float


def priced():
    with measured:
        helpers.step()
    return 3.5


@app.get("/")
async def quote() -> list[Quote]:
    return [Quote(item=str(i), price=priced() if i == 0 else 1) for i in range(30)]
