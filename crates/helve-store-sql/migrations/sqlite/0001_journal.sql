-- The journal of runs, and the conversations, approvals and tokens beside it.
--
-- Ids are 16-byte blobs and times are milliseconds since 1970. The log is the truth; tool_calls, approvals
-- and messages are derived from it in the same transaction. The tables on the hot path carry no foreign keys:
-- each append first looks up its run, which is the same check.

CREATE TABLE users (
    id         TEXT NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE conversations (
    id         BLOB NOT NULL PRIMARY KEY,
    user       TEXT NOT NULL REFERENCES users (id),
    title      TEXT NOT NULL,
    messages   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX conversations_by_user ON conversations (user, updated_at);

CREATE TABLE messages (
    conversation BLOB NOT NULL,
    ordinal      INTEGER NOT NULL,
    body         TEXT NOT NULL,
    PRIMARY KEY (conversation, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    id           BLOB NOT NULL PRIMARY KEY,
    user         TEXT NOT NULL REFERENCES users (id),
    conversation BLOB REFERENCES conversations (id),
    -- How many messages the conversation had before the one that started the run.
    history      INTEGER NOT NULL,
    state        TEXT NOT NULL,
    epoch        INTEGER NOT NULL,
    owner        TEXT NOT NULL,
    resumes      INTEGER NOT NULL,
    setup        TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX one_open_run_per_conversation ON runs (conversation)
    WHERE ended_at IS NULL AND conversation IS NOT NULL;
CREATE INDEX open_runs ON runs (id) WHERE ended_at IS NULL;
CREATE INDEX runs_by_user ON runs (user, id);

CREATE TABLE run_events (
    run  BLOB NOT NULL,
    seq  INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE tool_calls (
    run          BLOB NOT NULL,
    id           TEXT NOT NULL,
    step         INTEGER NOT NULL,
    provider_id  TEXT,
    tool         TEXT NOT NULL,
    arguments    TEXT NOT NULL,
    version      TEXT,
    effect       TEXT,
    state        TEXT NOT NULL,
    attempt      INTEGER NOT NULL,
    trail        TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    started_at   INTEGER,
    ended_at     INTEGER,
    PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE outputs (
    run  BLOB NOT NULL,
    call TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run, call)
) STRICT;

CREATE TABLE approvals (
    id         BLOB NOT NULL PRIMARY KEY,
    run        BLOB NOT NULL,
    user       TEXT NOT NULL,
    question   TEXT NOT NULL,
    asked_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    state      TEXT NOT NULL,
    answer     TEXT,
    answered_by TEXT,
    answered_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_approvals ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_by_run ON approvals (run);
CREATE INDEX approvals_by_user ON approvals (user, asked_at);

CREATE TABLE idempotency_keys (
    user        TEXT NOT NULL,
    route       TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    run         BLOB NOT NULL,
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (user, route, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
CREATE INDEX idempotency_keys_by_run ON idempotency_keys (run);

CREATE TABLE tokens (
    id          TEXT NOT NULL PRIMARY KEY,
    secret_hash BLOB NOT NULL,
    user        TEXT NOT NULL,
    rights      TEXT NOT NULL,
    note        TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    revoked_at  INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    seq    INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    by     TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
