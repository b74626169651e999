-- Consent that outlives the call it was given for, and questions that are read page by page.

CREATE TABLE allowances (
    -- The question that it was said in answer to.
    id           BLOB NOT NULL PRIMARY KEY,
    user         TEXT NOT NULL,
    agent        TEXT NOT NULL,
    tool         TEXT NOT NULL,
    -- The hash of the tool's definition: another definition is another tool.
    version      TEXT NOT NULL,
    -- run, conversation or agent.
    within       TEXT NOT NULL,
    run          BLOB NOT NULL,
    conversation BLOB,
    arguments    TEXT NOT NULL,
    by           TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    revoked_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX allowances_of_tool ON allowances (user, agent, tool, version) WHERE revoked_at IS NULL;
CREATE INDEX allowances_by_user ON allowances (user, created_at);
CREATE INDEX allowances_by_time ON allowances (created_at);
CREATE INDEX allowances_by_run ON allowances (run);

CREATE INDEX waiting_approvals ON approvals (asked_at, id) WHERE state = 'pending';
CREATE INDEX waiting_approvals_of_user ON approvals (user, asked_at, id) WHERE state = 'pending';
