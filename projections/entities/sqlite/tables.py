"""The tables of the sorted read model in SQLite.

`entities` is keyed by the order of lists, so a page is a range scan; deletion state comes
before the name because lists leave the soft-deleted out by default. `scopes` holds the same
order once more for each entity that a list can be narrowed to (a service, a schema, the entity
of a contract). `counters` holds every total and `digests` the sum of the digests of each kind's
rows, both kept in the transaction that changes the rows. `moments` has each event that is later
than all before it.

`history` holds the states that were replaced. It has rowids: between the keys that a page of the
past passes over there are no documents. `history_scopes` has the rows of `scopes` that ended.
`kind_totals` has a row for each change of the total of a kind; `forgotten` has what is taken off
for entities that are purged by now. `pasts` has for each kind the position of its newest event, and
the number and the sum of the digests of its rows in those two tables. `days` has for each day what
`daily_counts` says. What is asked for by positions alone is removed by them (`pruning`), and the
row of `checkpoint` has the horizon up to which that was done.
"""

TABLES = """
CREATE TABLE IF NOT EXISTS entities (
    kind TEXT NOT NULL, deleted INTEGER NOT NULL, name TEXT NOT NULL, id TEXT NOT NULL,
    fqn TEXT NOT NULL, status TEXT, scopes TEXT NOT NULL, covered INTEGER NOT NULL,
    position INTEGER NOT NULL, last_event TEXT NOT NULL, core BLOB NOT NULL, optional BLOB NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (kind, deleted, name, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scopes (
    scope TEXT NOT NULL, kind TEXT NOT NULL, deleted INTEGER NOT NULL, name TEXT NOT NULL,
    id TEXT NOT NULL, status TEXT, since INTEGER NOT NULL,
    PRIMARY KEY (scope, kind, deleted, name, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counters (
    kind TEXT NOT NULL, scope TEXT NOT NULL, deleted INTEGER NOT NULL, status TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (kind, scope, deleted, status)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS digests (
    kind TEXT PRIMARY KEY, n INTEGER NOT NULL, sum BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history (
    kind TEXT NOT NULL, deleted INTEGER NOT NULL, name TEXT NOT NULL, id TEXT NOT NULL,
    fqn TEXT NOT NULL, status TEXT, scopes TEXT NOT NULL, since INTEGER NOT NULL,
    until INTEGER NOT NULL, core BLOB, optional BLOB, digest BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS history_scopes (
    scope TEXT NOT NULL, kind TEXT NOT NULL, deleted INTEGER NOT NULL, name TEXT NOT NULL,
    id TEXT NOT NULL, until INTEGER NOT NULL, since INTEGER NOT NULL, status TEXT,
    PRIMARY KEY (scope, kind, deleted, name, id, until)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kind_totals (
    kind TEXT NOT NULL, deleted INTEGER NOT NULL, status TEXT NOT NULL, position INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (kind, deleted, status, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (
    kind TEXT NOT NULL, deleted INTEGER NOT NULL, status TEXT NOT NULL, position INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (kind, deleted, status, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pasts (
    kind TEXT PRIMARY KEY, position INTEGER NOT NULL, n INTEGER NOT NULL, sum BLOB NOT NULL)
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS days (
    day INTEGER NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (kind, what, day)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS moments (at INTEGER PRIMARY KEY, position INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS checkpoint (
    one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL,
    fingerprint TEXT NOT NULL, horizon INTEGER NOT NULL DEFAULT 0,
    horizon_at INTEGER NOT NULL DEFAULT 0);
"""
INDEXES = """
CREATE UNIQUE INDEX IF NOT EXISTS entities_by_id ON entities (id);
CREATE UNIQUE INDEX IF NOT EXISTS entities_by_fqn ON entities (kind, fqn);
CREATE INDEX IF NOT EXISTS entities_by_status ON entities (kind, deleted, status, name, id)
    WHERE status IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS history_by_id ON history (id, until);
CREATE INDEX IF NOT EXISTS history_in_order ON history (kind, deleted, name, id, since, until);
CREATE INDEX IF NOT EXISTS history_by_until ON history (until);
CREATE INDEX IF NOT EXISTS kind_totals_by_position ON kind_totals (position);
CREATE INDEX IF NOT EXISTS forgotten_by_position ON forgotten (position);
"""
INSERT_ENTITY = "INSERT INTO entities VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
INSERT_REPLACED = "INSERT INTO history VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
INSERT_TOTAL = "INSERT INTO kind_totals VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = excluded.n"
INSERT_ENDED = "INSERT INTO history_scopes VALUES (?,?,?,?,?,?,?,?)"
INSERT_PAST = (
    "INSERT INTO pasts VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET"
    " position = max(position, excluded.position), n = excluded.n, sum = excluded.sum"
)
INSERT_SCOPE = "INSERT INTO scopes VALUES (?,?,?,?,?,?,?)"
ADD_TO_DAY = "INSERT INTO days VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
INSERT_MOMENT = "INSERT INTO moments VALUES (?,?)"
FORGET = "INSERT INTO forgotten VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET n = n + excluded.n"
INSERT_DIGEST = "INSERT OR REPLACE INTO digests VALUES (?,?,?)"
PAGE_BYTES = 16_384
"""Size of a page of the file. Rows have some kilobytes, and in tables without a rowid nearly each
of them would overflow a page of the usual size."""
MOST_WAL_BYTES = 64 * 1024 * 1024
"""Size to which the write-ahead log is cut once nobody keeps the snapshot that made it grow."""
