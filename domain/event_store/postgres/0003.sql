-- Version 3: what reactions remember, and which entities have new measurements.

CREATE TABLE reactions (name text COLLATE "C" PRIMARY KEY, position bigint NOT NULL);
CREATE TABLE reaction_moments (
    reaction text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL, at bigint NOT NULL,
    PRIMARY KEY (reaction, subject)
);
CREATE INDEX reaction_moments_by_time ON reaction_moments (reaction, at);
CREATE TABLE reaction_watches (
    reaction text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL,
    entity text COLLATE "C" NOT NULL, PRIMARY KEY (reaction, subject, entity)
);
CREATE INDEX reaction_watches_by_entity ON reaction_watches (reaction, entity);

CREATE TABLE measurements_written (entity text COLLATE "C" PRIMARY KEY, turn bigint NOT NULL);
CREATE SEQUENCE measurement_turns;

-- Notes the entities of which points were written or deleted that contracts are held against.
CREATE FUNCTION note_measurements_3() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO measurements_written
        SELECT c.entity, nextval('measurement_turns') FROM (
            SELECT DISTINCT entity FROM changed
                WHERE series IN ('result', 'system', 'column') ORDER BY entity
        ) c
        ON CONFLICT (entity) DO UPDATE SET turn = excluded.turn;
    RETURN NULL;
END $$;
CREATE TRIGGER measurements_noted_inserted AFTER INSERT ON measurements
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_measurements_3();
CREATE TRIGGER measurements_noted_updated AFTER UPDATE ON measurements
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_measurements_3();
CREATE TRIGGER measurements_noted_deleted AFTER DELETE ON measurements
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_measurements_3();
