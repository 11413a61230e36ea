"""Two jobs of Dagster over assets that stand for tables of the shop; both make `revenue`."""

import dagster as dg


@dg.asset(key=["shop", "sales", "orders"])
def orders() -> int:
    return 1


@dg.asset(key=["shop", "sales", "revenue"])
def revenue(orders) -> int:
    return orders


@dg.asset(key=["shop", "sales", "customers"])
def customers() -> int:
    raise dg.Failure("the source is away")


defs = dg.Definitions(
    assets=[orders, revenue, customers],
    jobs=[
        dg.define_asset_job("nightly", ["shop/sales/orders", "shop/sales/revenue"]),
        dg.define_asset_job("hourly", "*"),
    ],
)
