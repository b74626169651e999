-- What was used up on a day (UTC, counted from 1970) by a user with an agent, added up in the transaction that records it.
-- Budgets of days are held against these sums; a conversation that is deleted does not take them along.

ALTER TABLE runs ADD COLUMN agent TEXT NOT NULL DEFAULT '';

UPDATE runs SET agent = coalesce(json_extract(setup, '$.agent'), '');

CREATE TABLE day_used (
    day INTEGER NOT NULL,
    user TEXT NOT NULL,
    agent TEXT NOT NULL,
    cost_nanos INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    active_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day, user, agent)
) STRICT, WITHOUT ROWID;
