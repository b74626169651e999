-- Definitions of any kind. Every version that ever was stays, since runs go on with what they were started with;
-- `definitions` says which one holds now. What is in a body, only its kind knows; whether it is on is no part of it.
-- The tools, which had tables of their own, are the first kind.

CREATE TABLE definition_versions (
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL,
    id         BLOB NOT NULL,
    hash       TEXT NOT NULL,
    enabled    INTEGER NOT NULL,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE definitions (
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (kind, name),
    FOREIGN KEY (kind, name, version) REFERENCES definition_versions (kind, name, version)
) STRICT, WITHOUT ROWID;

-- What definitions from outside have become since a person agreed to them: at most one offer for each, the last one.
CREATE TABLE definition_offers (
    kind      TEXT NOT NULL,
    name      TEXT NOT NULL,
    origin    TEXT NOT NULL,
    body      TEXT NOT NULL,
    over_hash TEXT NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT;

-- What the operator lets single ones have.
CREATE TABLE definition_grants (
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    grant_json TEXT NOT NULL,
    by         TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (kind, name, grant_json)
) STRICT, WITHOUT ROWID;

-- What comes with Helve is no definition of these tables, but it can be switched off.
CREATE TABLE definition_switches (
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE definition_changes (
    kind  TEXT NOT NULL PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO definition_versions
    SELECT 'tool', name, version, id, hash, coalesce(json_extract(definition, '$.enabled'), 1),
           json_remove(definition, '$.enabled'), created_at, updated_at
    FROM tool_versions;
INSERT INTO definitions SELECT 'tool', name, version FROM tools;
INSERT INTO definition_offers
    SELECT 'tool', name, origin, json_remove(definition, '$.enabled'), over_hash, at FROM tool_offers;
INSERT INTO definition_grants SELECT 'tool', tool, grant_json, by, at FROM tool_grants;
INSERT INTO definition_switches SELECT 'tool', name, enabled FROM tool_switches;
INSERT INTO definition_changes
    SELECT 'tool', CAST(value AS INTEGER) FROM settings WHERE name = 'tool_changes';

DROP TABLE tools;
DROP TABLE tool_versions;
DROP TABLE tool_offers;
DROP TABLE tool_grants;
DROP TABLE tool_switches;
DELETE FROM settings WHERE name = 'tool_changes';
