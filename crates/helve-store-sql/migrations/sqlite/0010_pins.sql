-- What tools from outside have become since a person agreed to them: at most one offer for a tool, the last one. A tool
-- with an offer is in quarantine until somebody takes or drops it.

CREATE TABLE tool_offers (
    name       TEXT PRIMARY KEY,
    origin     TEXT NOT NULL,
    definition TEXT NOT NULL,
    over_hash  TEXT NOT NULL,
    at         INTEGER NOT NULL
) STRICT;
