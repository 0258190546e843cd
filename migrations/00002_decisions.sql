-- What the decisions need beyond section 9.1.

-- +goose Up
ALTER TABLE monitors
    -- The order of registration: created_at may repeat, ids are monotonic per process only.
    ADD COLUMN seq           BIGINT GENERATED ALWAYS AS IDENTITY,
    -- The caller's exact bytes: JSONB reorders keys and drops duplicates (decision A3).
    ADD COLUMN metadata_text TEXT,
    -- What GET shows besides the status (section 3.3, decision S14).
    ADD COLUMN stream_status VARCHAR(20) NOT NULL DEFAULT 'unknown',
    ADD COLUMN health_video  VARCHAR(20) NOT NULL DEFAULT 'unknown',
    ADD COLUMN health_audio  VARCHAR(20) NOT NULL DEFAULT 'unknown',
    -- Why status is error, e.g. callback_failed (decision W4).
    ADD COLUMN reason        VARCHAR(64) NOT NULL DEFAULT '',
    -- Of the newest worker launched: reports of an older one are refused (decision O2).
    ADD COLUMN generation    INT NOT NULL DEFAULT 0,
    -- The watcher's state, for a worker that starts again (decision S11).
    ADD COLUMN snapshot      JSONB,
    -- When it ended; an ended monitor keeps answering with it (decision A6).
    ADD COLUMN ended_at      TIMESTAMPTZ;

-- Lists are newest first, of all monitors or of one status (decision A7).
CREATE UNIQUE INDEX idx_monitors_seq ON monitors (seq);
CREATE INDEX idx_monitors_status_seq ON monitors (status, seq);

ALTER TABLE monitor_events
    -- The place in the monitor's queue: first in, first out (decision W2). An event
    -- that is to be delivered again gets a new place, at the end.
    ADD COLUMN seq             BIGINT GENERATED ALWAYS AS IDENTITY,
    -- The payload as signed and sent, the same bytes at every attempt (decision W3).
    ADD COLUMN body            TEXT NOT NULL,
    -- Not to be sent before (decision W3); by the clock of the database.
    ADD COLUMN next_attempt_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    -- Being sent by a gateway until then (decision W2); by the clock of the database.
    ADD COLUMN leased_until    TIMESTAMPTZ,
    -- Each attempt: [{"at", "status", "error"}] (decision W3).
    ADD COLUMN attempts        JSONB NOT NULL DEFAULT '[]';

-- Finds the head of each monitor's queue without reading the rest of it.
CREATE INDEX idx_monitor_events_queue ON monitor_events (monitor_id, seq)
    WHERE webhook_status = 'pending';

-- A monitor's history, newest first (decision A8).
CREATE INDEX idx_monitor_events_history ON monitor_events (monitor_id, created_at, seq);
