-- A callback that fails need not end its monitor (section 19.5).

-- +goose Up
ALTER TABLE monitor_events
    -- The pause that was chosen with next_attempt_at, in seconds. A next_attempt_at further
    -- away means that the clock of the database was set back.
    ADD COLUMN retry_sec     FLOAT8  NOT NULL DEFAULT 0,
    -- The event no longer blocks those behind it.
    ADD COLUMN long_schedule BOOLEAN NOT NULL DEFAULT false;

DROP INDEX idx_monitor_events_queue;
CREATE INDEX idx_monitor_events_queue ON monitor_events (monitor_id, seq)
    WHERE webhook_status = 'pending' AND NOT long_schedule;
CREATE INDEX idx_monitor_events_long ON monitor_events (monitor_id, seq)
    WHERE webhook_status = 'pending' AND long_schedule;
