-- Files that calls made, kept with what came of the call, and users' own plans.

CREATE TABLE files (
    run        BLOB NOT NULL,
    -- Made from the bytes: the same bytes are kept once.
    id         TEXT NOT NULL,
    call       TEXT NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes      BLOB NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (run, id)
) STRICT;

CREATE TABLE plans (
    user       TEXT NOT NULL,
    -- Counts from 1 for each user.
    number     INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    body       TEXT NOT NULL,
    -- The calls that made it and that changed it last: a call sent again changes nothing.
    made_by    TEXT NOT NULL,
    changed_by TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (user, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX plans_by_maker ON plans (user, made_by);
CREATE INDEX plans_by_change ON plans (user, updated_at);
