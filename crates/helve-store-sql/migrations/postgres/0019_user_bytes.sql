-- What a user keeps is read when each of their runs begins: a row for each user, since a sum over all their runs costs
-- more with every run. A run's own bytes stay beside its row, to be given back when it is deleted.

CREATE TABLE user_bytes (
    user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    bytes   BIGINT NOT NULL
);

INSERT INTO user_bytes (user_id, bytes)
SELECT user_id, sum(bytes)::bigint FROM run_bytes GROUP BY user_id;

ALTER TABLE runs ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;

UPDATE runs SET bytes = run_bytes.bytes
FROM run_bytes WHERE run_bytes.user_id = runs.user_id AND run_bytes.run = runs.id;

DROP TABLE run_bytes;
