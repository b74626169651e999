-- Files that definitions name, such as those of a skill: by a hash of their bytes, so that the versions of a definition
-- share what did not change.

CREATE TABLE definition_files (
    hash  TEXT NOT NULL PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;
