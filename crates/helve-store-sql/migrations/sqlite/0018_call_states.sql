-- One vocabulary for the states of a call, in the store, the API and the page. A call that was kept from running is
-- `refused`, whoever kept it; `failed` is one that ran.

UPDATE tool_calls SET state = 'requested' WHERE state = 'planned';
UPDATE tool_calls SET state = 'running' WHERE state = 'started';
UPDATE tool_calls SET state = 'finished' WHERE state = 'succeeded';

UPDATE tool_calls SET state = 'refused', bad_end = 'refused' WHERE state = 'denied';
UPDATE tool_calls SET state = 'refused', bad_end = 'refused'
WHERE state = 'failed'
    AND failure IN ('unknown_tool', 'bad_arguments', 'denied', 'limited', 'unavailable', 'repeating');
-- One that was cancelled ran or did not; its last event says which.
UPDATE tool_calls SET state = 'refused', bad_end = 'refused'
WHERE state = 'failed' AND failure = 'cancelled'
    AND EXISTS (
        SELECT 1 FROM run_events
        WHERE run_events.run = tool_calls.run AND kind = 'tool.refused'
            AND json_extract(body, '$.call') = tool_calls.id
    );
