-- What a user keeps is read when each of their runs begins: a row for each user, since a sum over all their runs costs
-- more with every run. A run's own bytes stay beside its row, to be given back when it is deleted.

CREATE TABLE user_bytes (
    user  TEXT NOT NULL PRIMARY KEY,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO user_bytes (user, bytes)
SELECT user, sum(bytes) FROM run_bytes GROUP BY user;

ALTER TABLE runs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

UPDATE runs SET bytes = coalesce(
    (SELECT bytes FROM run_bytes WHERE run_bytes.user = runs.user AND run_bytes.run = runs.id), 0
);

DROP TABLE run_bytes;
