-- What models were found to do when they were asked.

CREATE TABLE model_profiles (
    model TEXT NOT NULL PRIMARY KEY,
    at    INTEGER NOT NULL,
    body  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
