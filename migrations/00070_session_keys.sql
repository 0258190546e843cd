-- The keys that sign the sessions of the dashboard (section 18.2), encrypted with SECRETS_KEY. The
-- first that a gateway can decrypt is its key: gateways with another SECRETS_KEY add one.

-- +goose Up
CREATE TABLE session_keys (
    id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sealed BYTEA NOT NULL
);
