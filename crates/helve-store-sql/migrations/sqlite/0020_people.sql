-- Users and groups that somebody wrote down; others exist by their names alone, wherever those appear.

CREATE TABLE people (
    id      TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    -- JSON, without what the other columns and tables hold.
    body    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Which of them an identity provider means; no two have the same.
CREATE TABLE user_identities (
    issuer  TEXT NOT NULL,
    subject TEXT NOT NULL,
    user    TEXT NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_user ON user_identities (user);

CREATE TABLE user_groups (
    name    TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    body    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The groups that name a user. Those that follow from what an identity provider says are not here.
CREATE TABLE group_members (
    user       TEXT NOT NULL,
    group_name TEXT NOT NULL,
    PRIMARY KEY (user, group_name)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_group ON group_members (group_name);

-- Sessions of the page that began with a password or at an identity provider.
CREATE TABLE page_sessions (
    -- SHA-256 of what the cookie holds.
    secret_hash BLOB NOT NULL PRIMARY KEY,
    user        TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    -- JSON: by what the provider knows the session.
    provider    TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON page_sessions (user, started_at);
