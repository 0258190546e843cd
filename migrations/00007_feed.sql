-- The feed (section 16.4): one log of changes, numbered after their commits.

-- +goose Up
CREATE TABLE feed_head (
    single  BOOLEAN PRIMARY KEY DEFAULT true CHECK (single), -- one row
    -- Changes when the database is not the one that numbered the entries, as after a restore.
    epoch   UUID    NOT NULL DEFAULT gen_random_uuid(),
    -- The server, its timeline and the table of which the epoch is; '' before a gateway has looked.
    origin  TEXT    NOT NULL DEFAULT '',
    -- Of the newest entry. The gateway that gives versions locks this row until it commits, so that
    -- they are committed in order; a sequence would let a reader skip those that commit late.
    version BIGINT  NOT NULL DEFAULT 0
);
INSERT INTO feed_head DEFAULT VALUES;

CREATE TABLE feed (
    version BIGINT      PRIMARY KEY,
    type    VARCHAR(40) NOT NULL,
    at      TIMESTAMPTZ NOT NULL, -- by the clock of the database
    data    TEXT        NOT NULL  -- the JSON as it is sent
);

-- What has changed and has no version yet. A change adds its row in its own transaction, and waits
-- for nothing; a gateway then turns rows into entries. The table is empty most of the time.
CREATE TABLE feed_inbox (
    seq  BIGINT      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    type VARCHAR(40) NOT NULL, -- of the entry
    id   TEXT        NOT NULL  -- of the monitor, the incident, the event or the evidence
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
