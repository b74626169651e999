-- Each turn wrote to two indexes more: one found the open run of a conversation, one the open runs by their ids. The first
-- is a column of the conversation, whose row is written then anyway; the open runs are few and are found by their users.

ALTER TABLE conversations ADD COLUMN active_run BLOB;

UPDATE conversations SET active_run = runs.id
FROM runs WHERE runs.conversation = conversations.id AND runs.ended_at IS NULL;

DROP INDEX one_open_run_per_conversation;
DROP INDEX open_runs;

-- What runs are started with is nearly always what the run before was started with: it is kept once, and the row of a run,
-- which changes with every step, is short. A setup is known by the hash of its bytes; those from before have none.
CREATE TABLE setups (
    id   INTEGER PRIMARY KEY,
    hash BLOB,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX setups_by_hash ON setups (hash) WHERE hash IS NOT NULL;

INSERT INTO setups (body) SELECT DISTINCT setup FROM runs;
CREATE INDEX setups_by_body ON setups (body);
ALTER TABLE runs ADD COLUMN setup_id INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET setup_id = setups.id FROM setups WHERE setups.body = runs.setup;
DROP INDEX setups_by_body;
ALTER TABLE runs DROP COLUMN setup;
