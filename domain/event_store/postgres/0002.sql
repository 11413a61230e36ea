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
