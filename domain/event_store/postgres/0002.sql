-- Version 2 of the tables of the log.

-- Features: what of the stored format the events use, with the release that first knew it. Each has
-- a number that is greater than those before it, as they are named under the order lock.
CREATE TABLE features (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    since text COLLATE "C" NOT NULL
);

-- Refuses the appends of a program that has not seen the newest feature, which it may not know. The
-- caller holds the order lock, which it took in a statement before.
CREATE FUNCTION check_features_2(p_newest bigint) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_newest <> coalesce((SELECT max(number) FROM features), 0) THEN
        RAISE SQLSTATE 'CT002' USING MESSAGE = 'features were named meanwhile';
    END IF;
END $$;

-- What programs append by that know no features is taken from them, also from those that run.
DROP PROCEDURE append_alone_1;
DROP PROCEDURE append_event_1;
ALTER FUNCTION append_1 RENAME TO append_2;

-- One append in a transaction of its own, as one statement of the client: in order, visible with the
-- commit that it makes itself, and answered when that is on disk.
CREATE PROCEDURE append_alone_2(
    p_order bigint, p_features bigint,

    p_streams text[], p_before bigint[],
    p_ids text[], p_versions bigint[], p_types text[], p_payloads bytea[],
    p_actions text[], p_counts bigint[],
    p_keys bytea[], p_kinds text[], p_fqns text[], p_taken text[], p_names text[],
    p_parents text[], p_others text[],
    p_sole_kinds text[], p_sole text[], p_live text[], p_childless text[],
    p_live_childless text[], p_edgeless text[],
    p_actor text, p_key text, p_digest bytea, p_entity text, p_version bigint, p_outcome text,
    p_at bigint, p_forget bigint,
    INOUT o_position bigint, INOUT o_refusal text, INOUT o_concerned text[], INOUT o_unmet text[]
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_advisory_xact_lock(p_order);
    PERFORM check_features_2(p_features);
    SELECT a.o_position, a.o_refusal, a.o_concerned, a.o_unmet
        INTO o_position, o_refusal, o_concerned, o_unmet
        FROM append_2(p_streams, p_before, p_ids, p_versions, p_types, p_payloads, p_actions, p_counts, p_keys, p_kinds, p_fqns, p_taken, p_names, p_parents, p_others, p_sole_kinds, p_sole, p_live, p_childless, p_live_childless, p_edgeless, p_actor, p_key, p_digest, p_entity, p_version, p_outcome, p_at, p_forget) a;
    COMMIT;
    PERFORM setval('positions', greatest(last_value, (SELECT max(position) FROM events)))
        FROM positions;
END $$;

-- One event, with the claim that it takes, if any, in the way of `append_alone_2`: what most writes
-- are, for a third of the work. Where anything is in the way, nothing is stored, and either the
-- position is null or a key refuses it: `append_alone_2` says then what it is. To have the inserts
-- pass over conflicts would take them a fifth longer.
CREATE PROCEDURE append_event_2(
    p_order bigint, p_features bigint,
    p_entity text, p_version bigint, p_type text, p_payload bytea,
    p_key bytea, p_kind text, p_fqn text, p_name text, p_parent text,
    p_live text[],
    INOUT o_position bigint
) LANGUAGE plpgsql AS $$
DECLARE
    v_done text;
BEGIN
    -- Assignments, for which no executor is started.
    v_done := set_config('synchronous_commit', 'off', true);
    v_done := pg_advisory_xact_lock(p_order)::text;
    -- Statements of their own: what they read is read after the lock was had.
    PERFORM check_features_2(p_features);
    IF p_version > 1 THEN
        PERFORM FROM events e WHERE e.entity_id = p_entity AND e.stream_version = p_version - 1;
        IF NOT FOUND THEN
            ROLLBACK;
            RETURN;
        END IF;
    END IF;
    IF p_live IS NOT NULL THEN
        PERFORM FROM unnest(p_live) AS l(id)
            WHERE NOT EXISTS (SELECT FROM claims c WHERE c.id = l.id AND NOT c.deleted);
        IF FOUND THEN
            ROLLBACK;
            RETURN;
        END IF;
    END IF;
    INSERT INTO events (position, entity_id, stream_version, type, payload)
        VALUES (
            greatest((SELECT max(position) FROM events), pg_sequence_last_value('positions'), 0) + 1,
            p_entity, p_version, p_type, p_payload)
        RETURNING position INTO o_position;
    IF p_key IS NOT NULL THEN
        INSERT INTO claims (name_key, kind, fqn, id, name, parent_id, deleted)
            VALUES (p_key, p_kind, p_fqn, p_entity, p_name, p_parent, false);
    END IF;
    v_done := pg_notify(current_schema(), 'log')::text;
    COMMIT;
    v_done := setval('positions', greatest(pg_sequence_last_value('positions'), o_position));
END $$;

-- What protects a catalog on all its hosts: its register of tokens, its secret, the key of sessions.
-- The stamp is another one after each change.
CREATE TABLE safe_documents (
    name text COLLATE "C" PRIMARY KEY,
    stamp uuid NOT NULL DEFAULT gen_random_uuid(),
    content bytea NOT NULL
);
-- Links that sign in once, by a digest of their secrets, with their ends in seconds since 1970.
CREATE TABLE sign_in_links (
    digest text COLLATE "C" PRIMARY KEY,
    link bytea NOT NULL,
    expires double precision NOT NULL
);

-- Measurements: what profilers, test runs and query logs report, a time series beside the log. A
-- part may be longer than a btree row can hold, so the program makes a key of it; parts are bytes
-- of UTF-8, as they may have the character 0, which text cannot. What is summed over many
-- entities stands beside the JSON.
CREATE TABLE measurements (
    entity text COLLATE "C" NOT NULL,
    series text COLLATE "C" NOT NULL,
    part_key bytea NOT NULL,
    at bigint NOT NULL,
    part bytea NOT NULL,
    body bytea NOT NULL,
    bytes bigint NOT NULL,
    count numeric,
    cost numeric,
    duration numeric,
    PRIMARY KEY (entity, series, part_key, at)
);
CREATE INDEX measurements_by_time ON measurements (at);
CREATE INDEX measurements_summed ON measurements (series, part_key, at)
    WHERE series IN ('usage', 'cost');

-- The sum of `bytes` of each entity that has points; that of all points stands under no entity.
-- Whoever changes points locks the rows of their entities first, in the order of their ids, and the
-- row of all points last: so nobody waits for one who waits for him.
CREATE TABLE measurement_sizes (entity text COLLATE "C" PRIMARY KEY, bytes bigint NOT NULL);
INSERT INTO measurement_sizes VALUES ('', 0);

CREATE FUNCTION add_measurements_2() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE measurement_sizes s SET bytes = s.bytes + c.bytes
        FROM (SELECT entity, sum(bytes)::bigint AS bytes FROM added GROUP BY entity) c
        WHERE s.entity = c.entity;
    RETURN NULL;
END $$;
CREATE FUNCTION remove_measurements_2() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE measurement_sizes s SET bytes = s.bytes - c.bytes
        FROM (SELECT entity, sum(bytes)::bigint AS bytes FROM removed GROUP BY entity) c
        WHERE s.entity = c.entity;
    RETURN NULL;
END $$;
CREATE TRIGGER measurements_inserted AFTER INSERT ON measurements
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_measurements_2();
CREATE TRIGGER measurements_replacing AFTER UPDATE ON measurements
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_measurements_2();
CREATE TRIGGER measurements_replaced AFTER UPDATE ON measurements
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION remove_measurements_2();
CREATE TRIGGER measurements_deleted AFTER DELETE ON measurements
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION remove_measurements_2();

-- Locks entities, also those that have no points yet, until the end of the transaction; answers
-- with the bytes of all of them. The statements after it read what others have left.
CREATE FUNCTION lock_measurements_2(p_entities text[]) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO measurement_sizes
        SELECT e.id, 0 FROM unnest(p_entities) AS e(id) ORDER BY e.id COLLATE "C"
        ON CONFLICT (entity) DO UPDATE SET bytes = 0 WHERE false;
    RETURN (SELECT sum(s.bytes) FROM measurement_sizes s WHERE s.entity = ANY (p_entities));
END $$;

-- Brings the bytes of all points up to date once those of some entities have changed, which
-- `lock_measurements_2` gave before; answers with them.
CREATE FUNCTION settle_measurements_2(p_entities text[], p_before bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_all bigint;
BEGIN
    UPDATE measurement_sizes a SET bytes = a.bytes - p_before + (
            SELECT sum(s.bytes) FROM measurement_sizes s WHERE s.entity = ANY (p_entities))
        WHERE a.entity = '' RETURNING a.bytes INTO v_all;
    DELETE FROM measurement_sizes s WHERE s.entity = ANY (p_entities) AND s.bytes = 0;
    RETURN v_all;
END $$;

-- Stores points, each in place of one of its key, and deletes the oldest beyond the bounds; or
-- stores nothing, and says what would be too large: 'entity' or 'all'. The commit is not waited for.
CREATE PROCEDURE write_measurements_2(
    p_entities text[], p_series text[], p_keys bytea[], p_ats bigint[], p_parts bytea[],
    p_bodies bytea[], p_bytes bigint[], p_counts numeric[], p_costs numeric[],
    p_durations numeric[], p_most bigint[], p_entity_bytes bigint, p_all_bytes bigint,
    INOUT o_refusal text
) LANGUAGE plpgsql AS $$
DECLARE
    v_ids text[] := ARRAY(SELECT DISTINCT unnest(p_entities));
    v_before bigint;
    v_id text;
    v_left bigint;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    v_before := lock_measurements_2(v_ids);
    -- An array of numbers that is null gives each point a null.
    INSERT INTO measurements
            (entity, series, part_key, at, part, body, bytes, count, cost, duration)
        SELECT unnest(p_entities), unnest(p_series), unnest(p_keys), unnest(p_ats),
            unnest(p_parts), unnest(p_bodies), unnest(p_bytes), unnest(p_counts),
            unnest(p_costs), unnest(p_durations)
        ON CONFLICT (entity, series, part_key, at) DO UPDATE SET body = excluded.body,
            bytes = excluded.bytes, count = excluded.count, cost = excluded.cost,
            duration = excluded.duration;
    -- What is deleted is named by its place, so that no plan can compare all points with all.
    DELETE FROM measurements WHERE ctid = ANY (ARRAY(
        SELECT o.place
            FROM (SELECT DISTINCT p.entity, p.series, p.part_key, p.most
                FROM unnest(p_entities, p_series, p_keys, p_most)
                    AS p(entity, series, part_key, most)) g
            CROSS JOIN LATERAL (SELECT m.ctid AS place FROM measurements m
                WHERE m.entity = g.entity AND m.series = g.series AND m.part_key = g.part_key
                ORDER BY m.at DESC OFFSET g.most) o));
    FOR v_id, v_left IN SELECT s.entity, s.bytes - p_entity_bytes FROM measurement_sizes s
            WHERE s.entity = ANY (v_ids) AND s.bytes > p_entity_bytes LOOP
        -- What this transaction has written stays.
        DELETE FROM measurements WHERE ctid = ANY (ARRAY(
            SELECT o.place
                FROM (SELECT m.ctid AS place,
                        sum(m.bytes) OVER (ORDER BY m.at, m.series, m.part) - m.bytes AS freed
                    FROM measurements m
                    WHERE m.entity = v_id AND m.xmin <> pg_current_xact_id()::xid) o
                WHERE o.freed < v_left));
    END LOOP;
    PERFORM FROM measurement_sizes s WHERE s.entity = ANY (v_ids) AND s.bytes > p_entity_bytes;
    IF FOUND THEN
        ROLLBACK;
        o_refusal := 'entity';
        RETURN;
    END IF;
    IF settle_measurements_2(v_ids, v_before) > p_all_bytes THEN
        ROLLBACK;
        o_refusal := 'all';
    END IF;
END $$;

-- Deletes the points of a series at a time, or all of them where it is null; answers with their
-- number. The commit is not waited for.
CREATE FUNCTION delete_measurements_2(p_entity text, p_series text, p_at bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_before bigint;
    v_count bigint;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    v_before := lock_measurements_2(ARRAY[p_entity]);
    DELETE FROM measurements m
        WHERE m.entity = p_entity AND m.series = p_series AND (p_at IS NULL OR m.at = p_at);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM settle_measurements_2(ARRAY[p_entity], v_before);
    RETURN v_count;
END $$;

-- Deletes at most so many points: of an entity, or where it is null, of any that are from before a
-- time; answers with their number. The commit is not waited for.
CREATE FUNCTION sweep_measurements_2(p_entity text, p_until bigint, p_limit bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_ids text[] := ARRAY[p_entity];
    v_before bigint;
    v_count bigint;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF p_entity IS NULL THEN
        v_ids := ARRAY(SELECT DISTINCT o.entity FROM (
            SELECT m.entity FROM measurements m WHERE m.at < p_until ORDER BY m.at LIMIT p_limit
        ) o);
    END IF;
    IF cardinality(v_ids) = 0 THEN
        RETURN 0;
    END IF;
    v_before := lock_measurements_2(v_ids);
    IF p_entity IS NULL THEN
        DELETE FROM measurements WHERE ctid = ANY (ARRAY(
            SELECT m.ctid FROM measurements m WHERE m.at < p_until AND m.entity = ANY (v_ids)
                ORDER BY m.at LIMIT p_limit));
    ELSE
        DELETE FROM measurements WHERE ctid = ANY (ARRAY(
            SELECT m.ctid FROM measurements m WHERE m.entity = p_entity LIMIT p_limit));
    END IF;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    PERFORM settle_measurements_2(v_ids, v_before);
    RETURN v_count;
END $$;
