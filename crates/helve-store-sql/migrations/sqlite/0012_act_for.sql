-- Whom a token may act for besides its user: nobody, `*`, or names divided by commas.
ALTER TABLE tokens ADD COLUMN act_for TEXT NOT NULL DEFAULT '';
