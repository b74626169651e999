-- The audit log becomes a chain: each entry has the hash of the one before it, and people are pseudonyms in it. What was
-- logged before is moved into the chain by `src/postgres/audit.rs`, in the same transaction, and `audit_before` is
-- dropped.

ALTER TABLE audit RENAME TO audit_before;
ALTER INDEX audit_pkey RENAME TO audit_before_pkey;

CREATE TABLE audit (
    -- Without a gap: an entry that is missing is seen.
    seq      BIGINT NOT NULL PRIMARY KEY,
    at       BIGINT NOT NULL,
    by       TEXT COLLATE "C" NOT NULL,
    about    TEXT COLLATE "C",
    action   TEXT COLLATE "C" NOT NULL,
    detail   TEXT NOT NULL,
    previous BYTEA NOT NULL,
    hash     BYTEA NOT NULL
);
CREATE INDEX audit_by_person ON audit (by, seq);
CREATE INDEX audit_about_person ON audit (about, seq) WHERE about IS NOT NULL;

-- Whose a pseudonym is. A person is forgotten by deleting their row.
CREATE TABLE pseudonyms (
    user_id   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    pseudonym TEXT COLLATE "C" NOT NULL UNIQUE
);

-- Against mistakes. Who may change the database may drop these, and then the hashes tell.
CREATE FUNCTION refuse_change_of_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries of the audit log are neither changed nor deleted';
END;
$$;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit();

-- Questions that approvers answer: the votes so far as JSON, and when somebody is reminded or others are asked.
ALTER TABLE approvals ADD COLUMN has_approvers BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE approvals ADD COLUMN votes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE approvals ADD COLUMN escalated BOOLEAN NOT NULL DEFAULT false;
-- NULL once it has happened.
ALTER TABLE approvals ADD COLUMN remind_at BIGINT;
ALTER TABLE approvals ADD COLUMN escalate_at BIGINT;
CREATE INDEX approvals_of_approvers ON approvals (asked_at, id) WHERE state = 'pending' AND has_approvers;
