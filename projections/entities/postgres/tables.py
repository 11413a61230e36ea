"""The tables of the sorted read model in PostgreSQL, in a schema for each generation.

They are those of the model in SQLite. Texts are in the order of their bytes, which is that of code
points. Names that are looked up by are keyed by a digest, because an index takes no long texts.
"""

from typing import Any

from msgspec.structs import astuple

from domain.kinds.names import name_key
from projections.entities.stored_entity import StoredEntity

_TEXT = 'text COLLATE "C"'
_HOT = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500"
"""For tables of few rows that every commit changes: a reader passes over all their old versions."""
TABLES = f"""
CREATE TABLE {{schema}}.entities (
    kind {_TEXT} NOT NULL, deleted integer NOT NULL, name {_TEXT} NOT NULL, id {_TEXT} NOT NULL,
    fqn {_TEXT} NOT NULL, status {_TEXT}, scopes {_TEXT} NOT NULL, covered integer NOT NULL,
    position bigint NOT NULL, last_event {_TEXT} NOT NULL, core bytea NOT NULL,
    optional bytea NOT NULL, digest bytea NOT NULL, fqn_key bytea NOT NULL);
CREATE TABLE {{schema}}.scopes (
    scope {_TEXT} NOT NULL, kind {_TEXT} NOT NULL, deleted integer NOT NULL, name {_TEXT} NOT NULL,
    id {_TEXT} NOT NULL, status {_TEXT}, since bigint NOT NULL);
CREATE TABLE {{schema}}.counters (
    kind {_TEXT}, scope {_TEXT}, deleted integer, status {_TEXT}, n bigint NOT NULL,
    PRIMARY KEY (kind, scope, deleted, status)) WITH (fillfactor = 50, {_HOT});
CREATE TABLE {{schema}}.digests (
    kind {_TEXT} PRIMARY KEY, n bigint NOT NULL, sum bytea NOT NULL)
    WITH (fillfactor = 20, {_HOT});
CREATE TABLE {{schema}}.history (
    kind {_TEXT} NOT NULL, deleted integer NOT NULL, name {_TEXT} NOT NULL, id {_TEXT} NOT NULL,
    fqn {_TEXT} NOT NULL, status {_TEXT}, scopes {_TEXT} NOT NULL, since bigint NOT NULL,
    until bigint NOT NULL, core bytea, optional bytea, digest bytea NOT NULL);
CREATE TABLE {{schema}}.history_scopes (
    scope {_TEXT} NOT NULL, kind {_TEXT} NOT NULL, deleted integer NOT NULL, name {_TEXT} NOT NULL,
    id {_TEXT} NOT NULL, until bigint NOT NULL, since bigint NOT NULL, status {_TEXT});
CREATE TABLE {{schema}}.kind_totals (
    kind {_TEXT} NOT NULL, deleted integer NOT NULL, status {_TEXT} NOT NULL,
    position bigint NOT NULL, n bigint NOT NULL);
CREATE TABLE {{schema}}.forgotten (
    kind {_TEXT} NOT NULL, deleted integer NOT NULL, status {_TEXT} NOT NULL,
    position bigint NOT NULL, n bigint NOT NULL);
CREATE TABLE {{schema}}.pasts (
    kind {_TEXT} PRIMARY KEY, position bigint NOT NULL, n bigint NOT NULL, sum bytea NOT NULL)
    WITH (fillfactor = 20, {_HOT});
CREATE TABLE {{schema}}.days (
    day bigint, kind {_TEXT}, what {_TEXT}, n bigint NOT NULL, PRIMARY KEY (kind, what, day))
    WITH (fillfactor = 50, {_HOT});
CREATE TABLE {{schema}}.moments (at bigint PRIMARY KEY, position bigint NOT NULL);
CREATE TABLE {{schema}}.checkpoint (
    one integer PRIMARY KEY CHECK (one = 1), position bigint NOT NULL, fingerprint text NOT NULL,
    horizon bigint NOT NULL DEFAULT 0, horizon_at bigint NOT NULL DEFAULT 0)
    WITH (fillfactor = 20, {_HOT});
INSERT INTO {{schema}}.checkpoint VALUES (1, 0, '');
ALTER TABLE {{schema}}.entities
    ALTER fqn SET STATISTICS 0, ALTER scopes SET STATISTICS 0, ALTER core SET STATISTICS 0,
    ALTER optional SET STATISTICS 0, ALTER digest SET STATISTICS 0;
ALTER TABLE {{schema}}.history
    ALTER fqn SET STATISTICS 0, ALTER scopes SET STATISTICS 0, ALTER core SET STATISTICS 0,
    ALTER optional SET STATISTICS 0, ALTER digest SET STATISTICS 0;
"""
"""Nothing is ever sought by the large columns, and to gather their statistics takes long."""
INDEXES = """
ALTER TABLE {schema}.entities ADD PRIMARY KEY (id);
CREATE UNIQUE INDEX entities_in_order ON {schema}.entities (kind, deleted, name, id);
CREATE UNIQUE INDEX entities_by_fqn ON {schema}.entities (fqn_key);
CREATE INDEX entities_by_status ON {schema}.entities (kind, deleted, status, name, id)
    WHERE status IS NOT NULL;
ALTER TABLE {schema}.scopes ADD PRIMARY KEY (scope, kind, deleted, name, id);
ALTER TABLE {schema}.history ADD PRIMARY KEY (id, until);
CREATE INDEX history_in_order ON {schema}.history (kind, deleted, name, id, until, since);
CREATE INDEX history_by_until ON {schema}.history (until);
ALTER TABLE {schema}.history_scopes ADD PRIMARY KEY (scope, kind, deleted, name, id, until);
ALTER TABLE {schema}.kind_totals ADD PRIMARY KEY (kind, deleted, status, position);
ALTER TABLE {schema}.forgotten ADD PRIMARY KEY (kind, deleted, status, position);
CREATE INDEX kind_totals_by_position ON {schema}.kind_totals (position);
CREATE INDEX forgotten_by_position ON {schema}.forgotten (position);
"""
"""Made after a load, which sorts what it would otherwise insert row by row."""
TYPES = (
    "text", "int4", "text", "text", "text", "text", "text", "int4", "int8", "text", "bytea",
    "bytea", "bytea", "bytea",
)  # fmt: skip
"""Of the fields of a StoredEntity, and of the key of its qualified name behind them."""


def entity_row(one: StoredEntity) -> tuple[Any, ...]:
    """The row of an entity: its fields, and the key of its qualified name."""
    return (*astuple(one), name_key(one.kind, one.fqn))
