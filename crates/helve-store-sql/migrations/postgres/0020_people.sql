-- Users and groups that somebody wrote down; others exist by their names alone, wherever those appear.

CREATE TABLE people (
    id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL,
    -- JSON, without what the other columns and tables hold.
    body    TEXT NOT NULL
);

-- Which of them an identity provider means; no two have the same.
CREATE TABLE user_identities (
    issuer  TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON user_identities (user_id);

CREATE TABLE user_groups (
    name    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL,
    body    TEXT NOT NULL
);

-- The groups that name a user. Those that follow from what an identity provider says are not here.
CREATE TABLE group_members (
    user_id       TEXT COLLATE "C" NOT NULL,
    group_name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, group_name)
);
CREATE INDEX members_by_group ON group_members (group_name);

-- Sessions of the page that began with a password or at an identity provider.
CREATE TABLE page_sessions (
    -- SHA-256 of what the cookie holds.
    secret_hash BYTEA NOT NULL PRIMARY KEY,
    user_id        TEXT COLLATE "C" NOT NULL,
    started_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    -- JSON: by what the provider knows the session.
    provider    TEXT
);
CREATE INDEX sessions_by_user ON page_sessions (user_id, started_at);
