-- Version 5: what is kept beside the measurements, such as the open runs of pipelines.

CREATE TABLE kept_beside (
    sort text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, at bigint NOT NULL,
    size bigint NOT NULL, label text COLLATE "C" NOT NULL, body bytea NOT NULL,
    PRIMARY KEY (sort, id)
);
CREATE INDEX kept_beside_by_time ON kept_beside (sort, at, size);
CREATE INDEX kept_beside_by_label ON kept_beside (sort, label);
