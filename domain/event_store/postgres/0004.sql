-- Version 4 of the tables of the log: names that entities had before they were renamed.

CREATE TABLE former_names (
    name_key bytea PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    fqn text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL
);
CREATE INDEX former_names_by_id ON former_names (id);

-- How often names have changed. A program that does not know the newest number may have planned an
-- append by a name that is a former one by now.
CREATE TABLE renames (one integer PRIMARY KEY CHECK (one = 1), number bigint NOT NULL);
INSERT INTO renames VALUES (1, 0);

-- Refuses the appends of a program that has not seen the newest feature, which it may not know, or
-- the newest name: both numbers only grow, so that their sum tells of either. The caller holds the
-- order lock, which it took in a statement before.
CREATE OR REPLACE FUNCTION check_features_2(p_newest bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_newest <> coalesce((SELECT max(number) FROM features), 0)
            + (SELECT number FROM renames) THEN
        RAISE SQLSTATE 'CT002' USING MESSAGE = 'features were named, or names changed, meanwhile';
    END IF;
END $$;

-- Refuses an append where an event after a position has one of these texts.
CREATE FUNCTION check_unmentioned_4(p_after bigint, p_texts bytea[]) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM FROM events e, unnest(p_texts) AS t(text)
        WHERE e.position > p_after AND position(t.text IN e.payload) > 0;
    IF FOUND THEN
        RAISE SQLSTATE 'CT003' USING MESSAGE = 'a text was mentioned meanwhile';
    END IF;
END $$;

-- Applies changes of claims in order: runs of an action, each over so many takes and renames, or
-- other ids. Answers with a refusal, or nulls; who is refused has to take back what was changed
-- before it.
CREATE OR REPLACE FUNCTION change_claims_1(
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
                SELECT t.name_key, t.kind, t.fqn, t.id, t.name, t.parent_id, false
                    FROM unnest(p_keys[v_take:v_last], p_kinds[v_take:v_last],
                        p_fqns[v_take:v_last], p_ids[v_take:v_last], p_names[v_take:v_last],
                        p_parents[v_take:v_last])
                        AS t(name_key, kind, fqn, id, name, parent_id)
                    WHERE NOT EXISTS (SELECT FROM former_names f WHERE f.name_key = t.name_key)
                ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS v_done = ROW_COUNT;
            IF v_done < p_counts[v_run] THEN
                SELECT array_agg(t.fqn ORDER BY t.n) INTO o_concerned
                    FROM unnest(p_keys, p_ids, p_fqns) WITH ORDINALITY AS t(name_key, id, fqn, n)
                    WHERE EXISTS (SELECT FROM claims c
                            WHERE c.name_key = t.name_key AND c.id <> t.id)
                        OR EXISTS (SELECT FROM former_names f
                            WHERE f.name_key = t.name_key AND f.id <> t.id);
                o_refusal := CASE WHEN o_concerned IS NULL THEN 'id' ELSE 'name' END;
                RETURN;
            END IF;
            v_take := v_last + 1;
        ELSIF p_actions[v_run] = 'rename' THEN
            v_last := v_take + p_counts[v_run]::integer - 1;
            -- One after the other, as a log that is restored may have several of one entity.
            FOR v_one IN v_take .. v_last LOOP
                SELECT array_agg(p_fqns[v_one]) INTO o_concerned
                    WHERE EXISTS (SELECT FROM claims c
                            WHERE c.name_key = p_keys[v_one] AND c.id <> p_ids[v_one])
                        OR EXISTS (SELECT FROM former_names f
                            WHERE f.name_key = p_keys[v_one] AND f.id <> p_ids[v_one]);
                IF o_concerned IS NOT NULL THEN
                    o_refusal := 'name';
                    RETURN;
                END IF;
                DELETE FROM former_names f WHERE f.name_key = p_keys[v_one];
                INSERT INTO former_names
                    SELECT c.name_key, c.kind, c.fqn, c.id FROM claims c WHERE c.id = p_ids[v_one];
                UPDATE claims c
                    SET name_key = p_keys[v_one], fqn = p_fqns[v_one], name = p_names[v_one]
                    WHERE c.id = p_ids[v_one];
            END LOOP;
            UPDATE renames SET number = number + p_counts[v_run];
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
                DELETE FROM former_names WHERE id = ANY (v_ids);
            END IF;
            v_other := v_last + 1;
        END IF;
    END LOOP;
END $$;

-- One event, with the claim that it takes, if any, in the way of `append_alone_2`: what most writes
-- are, for a third of the work. Where anything is in the way, nothing is stored, and either the
-- position is null or a key refuses it: `append_alone_2` says then what it is. To have the inserts
-- pass over conflicts would take them a fifth longer.
CREATE OR REPLACE PROCEDURE append_event_2(
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
    IF p_key IS NOT NULL THEN
        PERFORM FROM former_names f WHERE f.name_key = p_key;
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
