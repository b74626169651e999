-- What the operator lets single tools have: a host on this machine, or an environment variable as a secret for one host.
CREATE TABLE tool_grants (
    tool       TEXT NOT NULL,
    grant_json TEXT NOT NULL,
    by         TEXT NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (tool, grant_json)
) STRICT, WITHOUT ROWID;
