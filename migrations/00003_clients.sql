-- What clients are promised: reservations, limits shared by all gateways, and
-- creates that may be repeated.

-- +goose Up
ALTER TABLE monitors
    -- A reservation has no worker before this time (decision A10); NULL: it is none, or has been promoted.
    ADD COLUMN reserved_until TIMESTAMPTZ;

-- Finds what is to be promoted next.
CREATE INDEX idx_monitors_reserved ON monitors (reserved_until)
    WHERE reserved_until IS NOT NULL;

-- How much of each budget a client has used (section 12.3, decision A5), as the
-- one number that the generic cell rate algorithm needs. Losing it in a crash
-- gives everybody a fresh budget, which is worth not writing a log.
CREATE UNLOGGED TABLE rate_limits (
    client     BYTEA NOT NULL,        -- SHA-256 of the API key and the client's address
    budget     VARCHAR(20) NOT NULL,  -- create, query
    arrival_at TIMESTAMPTZ NOT NULL,  -- the theoretical arrival time: when the budget is whole again
    PRIMARY KEY (client, budget)
);

-- The first answer to a create that carried an Idempotency-Key (decision A9).
CREATE TABLE idempotency_keys (
    key        BYTEA PRIMARY KEY,     -- SHA-256 of the API key and the Idempotency-Key
    request    BYTEA NOT NULL,        -- SHA-256 of what was asked: the same key for something else is a mistake
    monitor_id VARCHAR(37) NOT NULL REFERENCES monitors (id),
    status     VARCHAR(20) NOT NULL,  -- of the monitor, as first answered
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Finds those that are past their 24 hours.
CREATE INDEX idx_idempotency_keys_created ON idempotency_keys (created_at);
