-- The audit log becomes a chain: each entry has the hash of the one before it, and people are pseudonyms in it. What was
-- logged before is moved into the chain by `src/sqlite/audit.rs`, in the same transaction, and `audit_before` is dropped.

ALTER TABLE audit RENAME TO audit_before;

CREATE TABLE audit (
    -- Without a gap: an entry that is missing is seen.
    seq      INTEGER NOT NULL PRIMARY KEY,
    at       INTEGER NOT NULL,
    by       TEXT NOT NULL,
    about    TEXT,
    action   TEXT NOT NULL,
    detail   TEXT NOT NULL,
    previous BLOB NOT NULL,
    hash     BLOB NOT NULL
) STRICT;
CREATE INDEX audit_by_person ON audit (by, seq);
CREATE INDEX audit_about_person ON audit (about, seq) WHERE about IS NOT NULL;

-- Whose a pseudonym is. A person is forgotten by deleting their row.
CREATE TABLE pseudonyms (
    user      TEXT NOT NULL PRIMARY KEY,
    pseudonym TEXT NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;

-- Against mistakes. Who may change the database may drop these, and then the hashes tell.
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log are not changed');
END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log are not deleted');
END;

-- Questions that approvers answer: the votes so far as JSON, and when somebody is reminded or others are asked.
ALTER TABLE approvals ADD COLUMN has_approvers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN votes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN escalated INTEGER NOT NULL DEFAULT 0;
-- NULL once it has happened.
ALTER TABLE approvals ADD COLUMN remind_at INTEGER;
ALTER TABLE approvals ADD COLUMN escalate_at INTEGER;
CREATE INDEX approvals_of_approvers ON approvals (asked_at, id) WHERE state = 'pending' AND has_approvers = 1;
