"""Documents of the Open Data Contract Standard for tests, and strategies of any mapping."""

from typing import Any

from hypothesis import strategies as st

FULL = """\
# A comment is no part of the document.
apiVersion: v3.1.0
kind: DataContract
id: orders-of-the-shop
name: Orders
version: 1.10
status: retired
tenant: shop
domain: sales
dataProduct: orders
contractCreatedTs: 2024-05-01T10:30:00Z
unknownKey: {b: 1, a: [null, {}, []]}
description:
  purpose: |
    What was ordered,
    line by line.
  limitations: Not for credit scoring.
  usage: ~
servers:
  - {server: production, type: postgres, host: db, port: 5432, database: shop, schema: public,
     password: hidden}
  - {server: files, type: s3, location: 's3://orders/*.csv', format: csv}
schema:
  - name: customers
    properties: [{name: id, logicalType: integer}]
  - name: orders
    physicalName: ORDERS
    logicalType: object
    tags: [core]
    properties:
      - &key
        name: id
        businessName: Order id
        logicalType: integer
        physicalType: bigint
        primaryKey: true
        required: true
        examples: [9007199254740993, 1, 1.0]
      - name: total
        physicalType: decimal(10,2)
        logicalType: number
        classification: restricted
        quality:
          - {type: library, metric: nullValues, mustBe: 0, name: no nulls, unit: rows, extra: [1]}
          - {type: custom, engine: soda, implementation: {check: freshness}}
      - name: status
        logicalType: string
        logicalTypeOptions: {maxLength: 20, pattern: '^[a-z]+$'}
      - name: lines
        logicalType: array
        items:
          logicalType: object
          properties:
            - {name: sku, logicalType: string}
            - <<: *key
              name: position
    quality:
      - {type: sql, query: 'select count(*) from orders', mustBeGreaterThan: 100}
slaProperties:
  - {property: frequency, value: 1, unit: d, element: orders.id}
  - {property: latency, value: 4, unit: h, driver: operational}
  - {property: retention, value: '3', unit: y}
  - {property: timeOfAvailability, value: '09:00'}
  - {property: errorRate, value: 0.5, unit: percent}
roles:
  - {role: analyst, access: read, firstLevelApprovers: 'anna, bert'}
  - {role: auditor}
team:
  name: shop
  members: [{username: anna, role: Owner}, {username: carl, role: steward}]
price: {priceAmount: 9.95, priceCurrency: EUR}
support: [{channel: '#orders'}]
customProperties: [{property: tier, value: 1}]
"""
"""A document with most sections, some of which say nothing that a contract holds."""

MINIMAL: dict[str, Any] = {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "minimal"}

MISREAD = [
    *("no", "10:30", "1e3", "0x10", "~", "=", "<<", "2024-01-01", "|", "%a", "@", "!x", "&a", "*a"),
    *("0o7", "1_0", ".5", "+1", "---", "...", "a:", "y", ".nan", "", " a", "a ", "- a", "a: b"),
    *("a #b", "? a", "\ta", "\u2028", "\x85", "\ufeff", "a\nb\n", "a\n\n", "a\n b", "a\r\nb"),
    *("\n", "a \nb"),
]
"""Texts that a reader of YAML would take for something else, were they not in quotes."""
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(MISREAD)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
KEYS = (
    "name",
    "version",
    "status",
    "description",
    "schema",
    "slaProperties",
    "roles",
    "team",
    "servers",
    "customProperties",
)
documents = st.builds(
    lambda anything, sections: {**anything, **sections, **MINIMAL},
    st.dictionaries(texts, values, max_size=4),
    st.dictionaries(st.sampled_from(KEYS), values, max_size=4),
)
"""Mappings that are taken: any keys with any values, those of the standard among them."""
