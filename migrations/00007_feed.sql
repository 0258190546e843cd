-- The feed (section 16.4): one log of changes, numbered in the order of their commits.

-- +goose Up
CREATE TABLE feed_head (
    single  BOOLEAN PRIMARY KEY DEFAULT true CHECK (single), -- one row
    -- Changes when the database is not the one that numbered the entries, as after a restore.
    epoch   UUID    NOT NULL DEFAULT gen_random_uuid(),
    -- The server, its timeline and the table of which the epoch is; '' before a gateway has looked.
    origin  TEXT    NOT NULL DEFAULT '',
    -- Of the newest entry. The transaction that adds entries locks this row until it commits, so that
    -- versions are committed in order; a sequence would let a reader skip those that commit late.
    version BIGINT  NOT NULL DEFAULT 0
);
INSERT INTO feed_head DEFAULT VALUES;

CREATE TABLE feed (
    version BIGINT      PRIMARY KEY,
    type    VARCHAR(40) NOT NULL,
    at      TIMESTAMPTZ NOT NULL, -- by the clock of the database
    data    TEXT        NOT NULL  -- the JSON as it is sent
);
