-- What runs and conversations took, added up in the transaction that records a step. Costs are billionths of the unit
-- of the operator's prices and NULL where no price was known. No sum grows beyond 2^53 - 1, which every reader can hold.

ALTER TABLE runs ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN cost_nanos INTEGER;

ALTER TABLE conversations ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN cost_nanos INTEGER;

-- What was recorded before is added up once; it has no costs.
UPDATE runs SET
    input_tokens = min(sums.input_tokens, 9007199254740991),
    output_tokens = min(sums.output_tokens, 9007199254740991),
    cached_tokens = min(sums.cached_tokens, 9007199254740991),
    cache_write_tokens = min(sums.cache_write_tokens, 9007199254740991),
    reasoning_tokens = min(sums.reasoning_tokens, 9007199254740991)
FROM (
    SELECT run,
        sum(min(coalesce(json_extract(body, '$.usage.input_tokens'), 0), 9007199254740991)) AS input_tokens,
        sum(min(coalesce(json_extract(body, '$.usage.output_tokens'), 0), 9007199254740991)) AS output_tokens,
        sum(min(coalesce(json_extract(body, '$.usage.cached_tokens'), 0), 9007199254740991)) AS cached_tokens,
        sum(min(coalesce(json_extract(body, '$.usage.cache_write_tokens'), 0), 9007199254740991)) AS cache_write_tokens,
        sum(min(coalesce(json_extract(body, '$.usage.reasoning_tokens'), 0), 9007199254740991)) AS reasoning_tokens
    FROM run_events WHERE kind = 'step.finished' GROUP BY run
) AS sums
WHERE sums.run = runs.id;

UPDATE conversations SET
    input_tokens = min(sums.input_tokens, 9007199254740991),
    output_tokens = min(sums.output_tokens, 9007199254740991),
    cached_tokens = min(sums.cached_tokens, 9007199254740991),
    cache_write_tokens = min(sums.cache_write_tokens, 9007199254740991),
    reasoning_tokens = min(sums.reasoning_tokens, 9007199254740991)
FROM (
    SELECT conversation,
        sum(input_tokens) AS input_tokens,
        sum(output_tokens) AS output_tokens,
        sum(cached_tokens) AS cached_tokens,
        sum(cache_write_tokens) AS cache_write_tokens,
        sum(reasoning_tokens) AS reasoning_tokens
    FROM runs WHERE conversation IS NOT NULL GROUP BY conversation
) AS sums
WHERE sums.conversation = conversations.id;
