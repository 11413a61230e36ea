-- Version 1 of the tables of the log. Text is compared by its bytes everywhere, as in Python.

CREATE TABLE events (
    position bigint PRIMARY KEY,
    entity_id text COLLATE "C" NOT NULL,
    stream_version bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    payload bytea NOT NULL,
    CONSTRAINT events_by_stream UNIQUE (entity_id, stream_version)
);

-- Set after each commit to the newest position there is, and by writing that, synced along with it.
CREATE SEQUENCE positions MINVALUE 0 START 0;

-- A btree row cannot hold the longest qualified names: the program makes a key of kind and name.
CREATE TABLE claims (
    name_key bytea PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    fqn text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL UNIQUE,
    name text COLLATE "C" NOT NULL,
    parent_id text COLLATE "C",
    deleted boolean NOT NULL
);
CREATE INDEX claims_by_parent ON claims (parent_id, deleted, kind, left(fqn, 500))
    WHERE parent_id IS NOT NULL;
CREATE INDEX edges_by_beginning ON claims (split_part(fqn, '.', 1)) WHERE kind = 'lineageEdge';
CREATE INDEX edges_by_end ON claims (name) WHERE kind = 'lineageEdge';

CREATE TABLE answers (
    actor text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    entity_id text COLLATE "C" NOT NULL,
    stream_version bigint NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (actor, key)
);
CREATE INDEX answers_by_age ON answers (at);

CREATE TABLE identity (one integer PRIMARY KEY CHECK (one = 1), id text NOT NULL);
INSERT INTO identity VALUES (1, replace(gen_random_uuid()::text, '-', ''));

-- What came from another log, whose positions may have gaps.
CREATE TABLE restored (
    one integer PRIMARY KEY CHECK (one = 1), head bigint NOT NULL, count bigint NOT NULL
);

-- Applies changes of claims in order: runs of an action, each over so many takes or other ids.
-- Answers with a refusal, or nulls; who is refused has to take back what was changed before it.
CREATE FUNCTION change_claims_1(
    p_actions text[], p_counts bigint[],
    p_keys bytea[], p_kinds text[], p_fqns text[], p_ids text[], p_names text[], p_parents text[],
    p_others text[],
    OUT o_refusal text, OUT o_concerned text[]
) LANGUAGE plpgsql AS $$
DECLARE
    v_take integer := 1;
    v_other integer := 1;
    v_last integer;
    v_done bigint;
    v_ids text[];
BEGIN
    FOR v_run IN 1 .. cardinality(p_actions) LOOP
        IF p_actions[v_run] = 'take' THEN
            v_last := v_take + p_counts[v_run]::integer - 1;
            INSERT INTO claims (name_key, kind, fqn, id, name, parent_id, deleted)
                SELECT unnest(p_keys[v_take:v_last]), unnest(p_kinds[v_take:v_last]),
                    unnest(p_fqns[v_take:v_last]), unnest(p_ids[v_take:v_last]),
                    unnest(p_names[v_take:v_last]), unnest(p_parents[v_take:v_last]), false
                ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS v_done = ROW_COUNT;
            IF v_done < p_counts[v_run] THEN
                SELECT array_agg(t.fqn ORDER BY t.n) INTO o_concerned
                    FROM unnest(p_keys, p_ids, p_fqns) WITH ORDINALITY AS t(name_key, id, fqn, n)
                    JOIN claims c ON c.name_key = t.name_key AND c.id <> t.id;
                o_refusal := CASE WHEN o_concerned IS NULL THEN 'id' ELSE 'name' END;
                RETURN;
            END IF;
            v_take := v_last + 1;
        ELSE
            v_last := v_other + p_counts[v_run]::integer - 1;
            v_ids := p_others[v_other:v_last];
            IF p_actions[v_run] = 'delete' THEN
                UPDATE claims SET deleted = true WHERE id = ANY (v_ids);
            ELSIF p_actions[v_run] = 'restore' THEN
                UPDATE claims SET deleted = false WHERE id = ANY (v_ids);
            ELSE
                DELETE FROM claims WHERE id = ANY (v_ids);
            END IF;
            v_other := v_last + 1;
        END IF;
    END LOOP;
END $$;

-- Whom an append expects otherwise than the claims are now, and in what; nulls when nobody.
CREATE FUNCTION unmet_1(
    p_sole_kinds text[], p_sole text[], p_live text[], p_childless text[],
    p_live_childless text[], p_edgeless text[],
    OUT o_concerned text[], OUT o_unmet text[]
) LANGUAGE sql STABLE AS $$
    SELECT array_agg(id ORDER BY what, id), array_agg(what ORDER BY what, id) FROM (
        SELECT DISTINCT s.id, '1 sole' AS what FROM unnest(p_sole_kinds, p_sole) AS s(kind, id)
            WHERE (SELECT count(*) FROM (SELECT FROM claims c
                WHERE c.parent_id = s.id AND NOT c.deleted AND c.kind = s.kind LIMIT 2) two) > 1
        UNION ALL
        SELECT l.id, '2 live' FROM unnest(p_live) AS l(id)
            WHERE NOT EXISTS (SELECT FROM claims c WHERE c.id = l.id AND NOT c.deleted)
        UNION ALL
        SELECT p.id, '3 childless' FROM unnest(p_childless) AS p(id)
            WHERE EXISTS (SELECT FROM claims c WHERE c.parent_id = p.id)
        UNION ALL
        SELECT p.id, '4 live childless' FROM unnest(p_live_childless) AS p(id)
            WHERE EXISTS (SELECT FROM claims c WHERE c.parent_id = p.id AND NOT c.deleted)
        UNION ALL
        SELECT e.id, '5 edgeless' FROM unnest(p_edgeless) AS e(id)
            WHERE EXISTS (SELECT FROM claims c
                    WHERE c.kind = 'lineageEdge' AND split_part(c.fqn, '.', 1) = e.id)
                OR EXISTS (SELECT FROM claims c WHERE c.kind = 'lineageEdge' AND c.name = e.id)
    ) unmet
$$;

-- Stores one append or refuses it, and then leaves nothing of it; null is an empty list. The caller
-- holds the order lock, which it took in a statement before: what is read here is what the last
-- append has left.
CREATE FUNCTION append_1(
    p_streams text[], p_before bigint[],
    p_ids text[], p_versions bigint[], p_types text[], p_payloads bytea[],
    p_actions text[], p_counts bigint[],
    p_keys bytea[], p_kinds text[], p_fqns text[], p_taken text[], p_names text[],
    p_parents text[], p_others text[],
    p_sole_kinds text[], p_sole text[], p_live text[], p_childless text[],
    p_live_childless text[], p_edgeless text[],
    p_actor text, p_key text, p_digest bytea, p_entity text, p_version bigint, p_outcome text,
    p_at bigint, p_forget bigint,
    OUT o_position bigint, OUT o_refusal text, OUT o_concerned text[], OUT o_unmet text[]
) LANGUAGE plpgsql AS $$
DECLARE
    v_head bigint;
BEGIN
    -- Each stream goes on where it ended. One alone, as most appends have it, is quicker asked.
    IF cardinality(p_streams) = 1 THEN
        IF p_before[1] <> coalesce((SELECT max(e.stream_version) FROM events e
                WHERE e.entity_id = p_streams[1]), 0) THEN
            o_refusal := 'state';
            o_concerned := p_streams;
            RETURN;
        END IF;
    ELSIF cardinality(p_streams) > 1 THEN
        SELECT array_agg(t.id ORDER BY t.n) INTO o_concerned
            FROM unnest(p_streams, p_before) WITH ORDINALITY AS t(id, before, n)
            WHERE t.before <> coalesce(
                (SELECT max(e.stream_version) FROM events e WHERE e.entity_id = t.id), 0);
        IF o_concerned IS NOT NULL THEN
            o_refusal := 'state';
            RETURN;
        END IF;
    END IF;
    SELECT coalesce(max(position), 0) INTO v_head FROM events;
    BEGIN
        IF cardinality(p_ids) > 0 THEN
            -- A position that was given is not given again, should its event have been removed.
            SELECT greatest(v_head, last_value) INTO v_head FROM positions;
            INSERT INTO events (position, entity_id, stream_version, type, payload)
                SELECT v_head + generate_series(1, cardinality(p_ids)), unnest(p_ids),
                    unnest(p_versions), unnest(p_types), unnest(p_payloads);
            v_head := v_head + cardinality(p_ids);
            -- Heard by all hosts when the transaction is visible, once for all appends of a group.
            PERFORM pg_notify(current_schema(), 'log');
        END IF;
        IF cardinality(p_actions) > 0 THEN
            SELECT c.o_refusal, c.o_concerned INTO o_refusal, o_concerned FROM change_claims_1(
                p_actions, p_counts, p_keys, p_kinds, p_fqns, p_taken, p_names, p_parents,
                p_others) c;
        END IF;
        IF o_refusal IS NULL AND cardinality(p_sole || p_live || p_childless || p_live_childless
                || p_edgeless) > 0 THEN
            SELECT u.o_concerned, u.o_unmet INTO o_concerned, o_unmet FROM unmet_1(
                p_sole_kinds, p_sole, p_live, p_childless, p_live_childless, p_edgeless) u;
            IF o_concerned IS NOT NULL THEN
                o_refusal := 'claims';
            END IF;
        END IF;
        IF o_refusal IS NULL AND p_key IS NOT NULL THEN
            DELETE FROM answers a WHERE a.at < p_forget;
            INSERT INTO answers VALUES
                (p_actor, p_key, p_digest, p_entity, p_version, p_outcome, p_at)
                ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                o_refusal := 'key';
            END IF;
        END IF;
        IF o_refusal IS NOT NULL THEN
            RAISE SQLSTATE 'CT001';
        END IF;
        o_position := v_head;
    EXCEPTION WHEN SQLSTATE 'CT001' THEN
        -- What was stored in this block is taken back; the reasons stay in the variables.
        NULL;
    END;
END $$;

-- One append in a transaction of its own, as one statement of the client: in order, visible with the
-- commit that it makes itself, and answered when that is on disk.
CREATE PROCEDURE append_alone_1(
    p_order bigint,

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
    SELECT a.o_position, a.o_refusal, a.o_concerned, a.o_unmet
        INTO o_position, o_refusal, o_concerned, o_unmet
        FROM append_1(p_streams, p_before, p_ids, p_versions, p_types, p_payloads, p_actions, p_counts, p_keys, p_kinds, p_fqns, p_taken, p_names, p_parents, p_others, p_sole_kinds, p_sole, p_live, p_childless, p_live_childless, p_edgeless, p_actor, p_key, p_digest, p_entity, p_version, p_outcome, p_at, p_forget) a;
    COMMIT;
    PERFORM setval('positions', greatest(last_value, (SELECT max(position) FROM events)))
        FROM positions;
END $$;

-- One event, with the claim that it takes, if any, in the way of `append_alone_1`: what most writes
-- are, for a third of the work. Where anything is in the way, nothing is stored, and either the
-- position is null or a key refuses it: `append_alone_1` says then what it is. To have the inserts
-- pass over conflicts would take them a fifth longer.
CREATE PROCEDURE append_event_1(
    p_order bigint,
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
