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
