-- What those who call the API have: keys and sessions (sections 12.4 and 18.2), what they did with
-- them, how often they may call, and creates that may be repeated.

-- +goose Up
CREATE TABLE api_keys (
    id           UUID PRIMARY KEY,
    name         VARCHAR(100) NOT NULL,
    role         VARCHAR(16)  NOT NULL,                 -- view, operate or admin
    digest       BYTEA        NOT NULL,                 -- SHA-256 of the secret, which is 256 random bits
    created_by   VARCHAR(100) NOT NULL,                 -- name of the key that created it
    created_at   TIMESTAMPTZ  NOT NULL,
    expires_at   TIMESTAMPTZ,
    revoked_at   TIMESTAMPTZ,
    last_used_at TIMESTAMPTZ                            -- to the minute
);
-- The name of a key that is valid is taken: no query needs it, a creation is refused by it.
CREATE UNIQUE INDEX api_keys_name ON api_keys (name) WHERE revoked_at IS NULL;

CREATE TABLE audit_entries (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       TIMESTAMPTZ  NOT NULL DEFAULT now(),
    key_id   UUID,                                      -- null: API_KEY
    key_name VARCHAR(100) NOT NULL,
    action   VARCHAR(64)  NOT NULL,                     -- such as monitor.stop
    objects  TEXT[]       NOT NULL DEFAULT '{}',        -- ids of what was changed
    client   VARCHAR(64)  NOT NULL,                     -- address
    status   INTEGER                                    -- of the response; null: not known
);
-- What expires.
CREATE INDEX audit_entries_at ON audit_entries (at);

-- The keys that sign the sessions of the dashboard (section 18.2), encrypted with SECRETS_KEY. The
-- first that a gateway can decrypt is its key: gateways with another SECRETS_KEY add one.
CREATE TABLE session_keys (
    id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sealed BYTEA NOT NULL
);

-- How much of each budget a client has used (section 12.3, decision A5), as the
-- one number that the generic cell rate algorithm needs. Losing it in a crash
-- gives everybody a fresh budget, which is worth not writing a log.
CREATE UNLOGGED TABLE rate_limits (
    client     BYTEA NOT NULL,        -- SHA-256 of the API key and the client's address
    budget     VARCHAR(20) NOT NULL,  -- create, query
    arrival_at TIMESTAMPTZ NOT NULL,  -- the theoretical arrival time: when the budget is whole again
    PRIMARY KEY (client, budget)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05); -- each request of a client updates its row

-- The first answer to a create that carried an Idempotency-Key (decision A9).
CREATE TABLE idempotency_keys (
    key        BYTEA PRIMARY KEY,     -- SHA-256 of the API key and the Idempotency-Key
    request    BYTEA NOT NULL,        -- SHA-256 of what was asked: the same key for something else is a mistake
    monitor_id VARCHAR(37) NOT NULL REFERENCES monitors (id),
    status     VARCHAR(20) NOT NULL,  -- of the monitor, as first answered
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Those that are past their 24 hours.
CREATE INDEX idx_idempotency_keys_created ON idempotency_keys (created_at);
