-- API keys of people and programs, and what they did (section 12.4).

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
CREATE INDEX audit_entries_at ON audit_entries (at);
