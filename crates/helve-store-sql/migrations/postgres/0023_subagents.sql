-- The runs of subagents: the tree that each belongs to, and whether the run it works for knows what became of it.
ALTER TABLE runs ADD COLUMN root UUID;
ALTER TABLE runs ADD COLUMN unreported BIGINT NOT NULL DEFAULT 0;

CREATE INDEX runs_by_root ON runs (root) WHERE root IS NOT NULL;
CREATE INDEX unreported_runs ON runs (id) WHERE unreported = 1;
