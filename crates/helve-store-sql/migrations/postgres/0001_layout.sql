-- The layout that migration 18 leaves on SQLite, in one file; from 19 on a number means the same change on both.
--
-- Ids are UUIDs and times are milliseconds since 1970. The log is the truth; tool_calls, approvals and messages are derived
-- from it in the same transaction. The tables on the hot path carry no foreign keys: each append first looks up its run,
-- which is the same check. Text is compared by its bytes, as SQLite does. What SQLite calls `user` is `user_id` here, since
-- the word is reserved.

CREATE TABLE users (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL
);

CREATE TABLE conversations (
    id         UUID NOT NULL PRIMARY KEY,
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    title      TEXT NOT NULL,
    messages   BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- Sums of its runs. Costs are billionths of the unit of the operator's prices and NULL where no price was known.
    input_tokens       BIGINT NOT NULL DEFAULT 0,
    output_tokens      BIGINT NOT NULL DEFAULT 0,
    cached_tokens      BIGINT NOT NULL DEFAULT 0,
    cache_write_tokens BIGINT NOT NULL DEFAULT 0,
    reasoning_tokens   BIGINT NOT NULL DEFAULT 0,
    cost_nanos BIGINT,
    active_run UUID
);
CREATE INDEX conversations_by_user ON conversations (user_id, updated_at, id);
CREATE INDEX conversations_by_time ON conversations (updated_at, id);

CREATE TABLE messages (
    conversation UUID NOT NULL,
    ordinal      BIGINT NOT NULL,
    body         TEXT NOT NULL,
    PRIMARY KEY (conversation, ordinal)
);

-- What runs are started with, each kept once, found by the hash of its bytes. One with a history of its own has no hash.
CREATE TABLE setups (
    id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash BYTEA,
    body TEXT NOT NULL
);
CREATE UNIQUE INDEX setups_by_hash ON setups (hash) WHERE hash IS NOT NULL;

CREATE TABLE runs (
    id           UUID NOT NULL PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    conversation UUID REFERENCES conversations (id),
    -- How many messages the conversation had before the one that started the run.
    history      BIGINT NOT NULL,
    state        TEXT NOT NULL,
    epoch        BIGINT NOT NULL,
    owner        TEXT NOT NULL,
    resumes      BIGINT NOT NULL,
    setup_id     BIGINT NOT NULL,
    agent        TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    ended_at     BIGINT,
    input_tokens       BIGINT NOT NULL DEFAULT 0,
    output_tokens      BIGINT NOT NULL DEFAULT 0,
    cached_tokens      BIGINT NOT NULL DEFAULT 0,
    cache_write_tokens BIGINT NOT NULL DEFAULT 0,
    reasoning_tokens   BIGINT NOT NULL DEFAULT 0,
    cost_nanos BIGINT
);
CREATE INDEX runs_by_user ON runs (user_id, id);
CREATE INDEX runs_by_conversation ON runs (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX runs_by_setup ON runs (setup_id);
CREATE INDEX open_runs_by_user ON runs (user_id, state) WHERE ended_at IS NULL;

CREATE TABLE run_events (
    run  UUID NOT NULL,
    seq  BIGINT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
);

CREATE TABLE tool_calls (
    run          UUID NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    step         BIGINT NOT NULL,
    provider_id  TEXT,
    tool         TEXT COLLATE "C" NOT NULL,
    arguments    TEXT NOT NULL,
    version      TEXT,
    effect       TEXT,
    state        TEXT COLLATE "C" NOT NULL,
    attempt      BIGINT NOT NULL,
    trail        TEXT NOT NULL,
    requested_at BIGINT NOT NULL,
    started_at   BIGINT,
    ended_at     BIGINT,
    user_id      TEXT COLLATE "C" NOT NULL,
    -- The state of a call that ended badly.
    bad_end      TEXT COLLATE "C",
    failure      TEXT,
    problem      TEXT,
    output_bytes BIGINT,
    PRIMARY KEY (run, id)
);
CREATE INDEX tool_calls_by_time ON tool_calls (requested_at);
CREATE INDEX tool_calls_by_tool ON tool_calls (tool, requested_at);
CREATE INDEX tool_calls_by_user ON tool_calls (user_id, requested_at);
CREATE INDEX tool_calls_by_bad_end ON tool_calls (bad_end, requested_at) WHERE bad_end IS NOT NULL;
CREATE INDEX tool_calls_open ON tool_calls (requested_at) WHERE ended_at IS NULL;

-- When each tool was sent to, so that a rate limit holds across a restart.
CREATE TABLE tool_sends (
    tool    TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    run     UUID NOT NULL,
    seq     BIGINT NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tool, at, run, seq)
);

-- Bytes, since an output may hold U+0000, which no TEXT of PostgreSQL can.
CREATE TABLE outputs (
    run  UUID NOT NULL,
    call TEXT COLLATE "C" NOT NULL,
    text BYTEA NOT NULL,
    PRIMARY KEY (run, call)
);

CREATE TABLE files (
    run        UUID NOT NULL,
    -- Made from the bytes: the same bytes are kept once.
    id         TEXT COLLATE "C" NOT NULL,
    call       TEXT COLLATE "C" NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes      BYTEA NOT NULL,
    at         BIGINT NOT NULL,
    PRIMARY KEY (run, id)
);

CREATE TABLE approvals (
    id          UUID NOT NULL PRIMARY KEY,
    run         UUID NOT NULL,
    user_id     TEXT COLLATE "C" NOT NULL,
    question    TEXT NOT NULL,
    asked_at    BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    answer      TEXT,
    answered_by TEXT,
    answered_at BIGINT
);
CREATE INDEX pending_approvals ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX waiting_approvals ON approvals (asked_at, id) WHERE state = 'pending';
CREATE INDEX waiting_approvals_of_user ON approvals (user_id, asked_at, id) WHERE state = 'pending';
CREATE INDEX approvals_by_run ON approvals (run);
CREATE INDEX approvals_by_user ON approvals (user_id, asked_at);
CREATE INDEX approvals_by_time ON approvals (asked_at, id);

-- Consent that outlives the call it was given for.
CREATE TABLE allowances (
    -- The question that it was said in answer to.
    id           UUID NOT NULL PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL,
    agent        TEXT COLLATE "C" NOT NULL,
    tool         TEXT COLLATE "C" NOT NULL,
    -- The hash of the tool's definition: another definition is another tool.
    version      TEXT COLLATE "C" NOT NULL,
    -- run, conversation or agent.
    within       TEXT NOT NULL,
    run          UUID NOT NULL,
    conversation UUID,
    arguments    TEXT NOT NULL,
    by           TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    revoked_at   BIGINT
);
CREATE INDEX allowances_of_tool ON allowances (user_id, agent, tool, version) WHERE revoked_at IS NULL;
CREATE INDEX allowances_by_user ON allowances (user_id, created_at);
CREATE INDEX allowances_by_time ON allowances (created_at);
CREATE INDEX allowances_by_run ON allowances (run);

CREATE TABLE idempotency_keys (
    user_id     TEXT COLLATE "C" NOT NULL,
    route       TEXT COLLATE "C" NOT NULL,
    key         TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT NOT NULL,
    run         UUID NOT NULL,
    expires_at  BIGINT NOT NULL,
    PRIMARY KEY (user_id, route, key)
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
CREATE INDEX idempotency_keys_by_run ON idempotency_keys (run);

-- Users' own plans.
CREATE TABLE plans (
    user_id    TEXT COLLATE "C" NOT NULL,
    -- Counts from 1 for each user.
    number     BIGINT NOT NULL,
    version    BIGINT NOT NULL,
    body       TEXT NOT NULL,
    -- The calls that made it and that changed it last: a call sent again changes nothing.
    made_by    TEXT COLLATE "C" NOT NULL,
    changed_by TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, number)
);
CREATE UNIQUE INDEX plans_by_maker ON plans (user_id, made_by);
CREATE INDEX plans_by_change ON plans (user_id, updated_at);

-- What was used up on a day (UTC, counted from 1970) by a user with an agent.
CREATE TABLE day_used (
    day        BIGINT NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL,
    cost_nanos BIGINT NOT NULL DEFAULT 0,
    tokens     BIGINT NOT NULL DEFAULT 0,
    calls      BIGINT NOT NULL DEFAULT 0,
    active_ms  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, user_id, agent)
);

-- What each run takes up, so that what a user keeps is one short sum.
CREATE TABLE run_bytes (
    user_id TEXT COLLATE "C" NOT NULL,
    run     UUID NOT NULL,
    bytes   BIGINT NOT NULL,
    PRIMARY KEY (user_id, run)
);

-- Definitions of any kind. Every version that ever was stays, since runs go on with what they were started with;
-- `definitions` says which one holds now.
CREATE TABLE definition_versions (
    kind       TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    version    BIGINT NOT NULL,
    id         UUID NOT NULL,
    hash       TEXT NOT NULL,
    enabled    BOOLEAN NOT NULL,
    body       TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (kind, name, version)
);

CREATE TABLE definitions (
    kind    TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (kind, name),
    FOREIGN KEY (kind, name, version) REFERENCES definition_versions (kind, name, version)
);

-- What definitions from outside have become since a person agreed to them: at most one offer for each, the last one.
CREATE TABLE definition_offers (
    kind      TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    origin    TEXT NOT NULL,
    body      TEXT NOT NULL,
    over_hash TEXT NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
);

-- What the operator lets single ones have.
CREATE TABLE definition_grants (
    kind       TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    grant_json TEXT COLLATE "C" NOT NULL,
    by         TEXT NOT NULL,
    at         BIGINT NOT NULL,
    PRIMARY KEY (kind, name, grant_json)
);

-- What comes with Helve is no definition of these tables, but it can be switched off.
CREATE TABLE definition_switches (
    kind    TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    enabled BOOLEAN NOT NULL,
    PRIMARY KEY (kind, name)
);

CREATE TABLE definition_changes (
    kind  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    count BIGINT NOT NULL
);

-- What models were found to do when they were asked.
CREATE TABLE model_profiles (
    model TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at    BIGINT NOT NULL,
    body  TEXT NOT NULL
);

CREATE TABLE tokens (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    secret_hash BYTEA NOT NULL,
    user_id     TEXT COLLATE "C" NOT NULL,
    rights      TEXT NOT NULL,
    note        TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    revoked_at  BIGINT,
    -- Whom it may act for besides its user: nobody, `*`, or names divided by commas.
    act_for     TEXT NOT NULL DEFAULT ''
);

CREATE TABLE ended_sessions (
    token     TEXT COLLATE "C" NOT NULL,
    issued_at BIGINT NOT NULL,
    PRIMARY KEY (token, issued_at)
);

CREATE TABLE audit (
    seq    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     BIGINT NOT NULL,
    by     TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
);

CREATE TABLE settings (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
