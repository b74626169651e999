-- What each run takes up, so that what a user keeps is one short sum; and the sessions of the page that were ended.

CREATE TABLE run_bytes (
    user  TEXT NOT NULL,
    run   BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (user, run)
) STRICT, WITHOUT ROWID;

INSERT INTO run_bytes (user, run, bytes)
SELECT user, id,
    length(CAST(setup AS BLOB))
    + (SELECT coalesce(sum(length(CAST(body AS BLOB))), 0) FROM run_events WHERE run_events.run = runs.id)
    + (SELECT coalesce(sum(length(CAST(text AS BLOB))), 0) FROM outputs WHERE outputs.run = runs.id)
    + (SELECT coalesce(sum(length(bytes)), 0) FROM files WHERE files.run = runs.id)
FROM runs;

-- Those that wait for a person or a client are counted before another run of the user begins.
CREATE INDEX open_runs_by_user ON runs (user, state) WHERE ended_at IS NULL;

CREATE TABLE ended_sessions (
    token     TEXT NOT NULL,
    issued_at INTEGER NOT NULL,
    PRIMARY KEY (token, issued_at)
) STRICT, WITHOUT ROWID;
