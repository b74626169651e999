-- Calls that have not ended, also those of runs that have: a client's tool that was asked for in the last step, or a call
-- that was cut off. There are few of them.
CREATE INDEX tool_calls_open ON tool_calls (requested_at) WHERE ended_at IS NULL;
