-- Tools that are rows. Every version that ever was stays, since runs go on with what they were started with; `tools`
-- says which one holds now. Tools that come with Helve are no rows, but they can be switched off.

CREATE TABLE tool_versions (
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL,
    id         BLOB NOT NULL,
    hash       TEXT NOT NULL,
    definition TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE tools (
    name    TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    FOREIGN KEY (name, version) REFERENCES tool_versions (name, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE tool_switches (
    name    TEXT NOT NULL PRIMARY KEY,
    enabled INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
