-- When each tool was sent to, so that a rate limit holds across a restart. A row is written with the event that precedes the
-- send, and dropped when no window reaches back to it; a conversation that is deleted leaves its rows here.
CREATE TABLE tool_sends (
    tool TEXT NOT NULL,
    at   INTEGER NOT NULL,
    run  BLOB NOT NULL,
    seq  INTEGER NOT NULL,
    user TEXT NOT NULL,
    PRIMARY KEY (tool, at, run, seq)
) STRICT, WITHOUT ROWID;
