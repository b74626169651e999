-- Calls are found by tool, user, state and time, and say what became of them.
--
-- Three of the indexes are written once, when a call is planned, since none of their columns changes afterwards. Calls that
-- ended badly, which are few, have an index over a column of its own: one over `state`, which every call changes three
-- times, cost more than the other three together. Nearly all other calls succeeded and are found by time, and open
-- ones by their run.

ALTER TABLE tool_calls ADD COLUMN user TEXT NOT NULL DEFAULT '';
-- The state of a call that ended badly.
ALTER TABLE tool_calls ADD COLUMN bad_end TEXT;
ALTER TABLE tool_calls ADD COLUMN failure TEXT;
ALTER TABLE tool_calls ADD COLUMN problem TEXT;
ALTER TABLE tool_calls ADD COLUMN output_bytes INTEGER;

UPDATE tool_calls SET user = runs.user FROM runs WHERE runs.id = tool_calls.run;

UPDATE tool_calls SET bad_end = state WHERE state IN ('failed', 'denied', 'expired', 'unknown');

-- What became of the calls before, by the last event that says so.
UPDATE tool_calls SET failure = ends.failure, problem = ends.problem, output_bytes = ends.output_bytes
FROM (
    SELECT run, json_extract(body, '$.call') AS call, max(seq),
        json_extract(body, '$.failure.kind') AS failure,
        coalesce(json_extract(body, '$.failure.message'), json_extract(body, '$.because')) AS problem,
        coalesce(json_extract(body, '$.output.whole_bytes'),
            octet_length(json_extract(body, '$.output.text'))) AS output_bytes
    FROM run_events WHERE kind IN ('tool.finished', 'tool.failed', 'tool.refused', 'tool.unknown')
    GROUP BY run, json_extract(body, '$.call')
) AS ends
WHERE ends.run = tool_calls.run AND ends.call = tool_calls.id;

CREATE INDEX tool_calls_by_time ON tool_calls (requested_at);
CREATE INDEX tool_calls_by_tool ON tool_calls (tool, requested_at);
CREATE INDEX tool_calls_by_user ON tool_calls (user, requested_at);
CREATE INDEX tool_calls_by_bad_end ON tool_calls (bad_end, requested_at) WHERE bad_end IS NOT NULL;
