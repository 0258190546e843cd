-- What events need beyond section 9.1. How they are delivered is in deliveries; webhook_status,
-- webhook_attempts, webhook_last_error and sent_at mirror what became of the callback's.

-- +goose Up
ALTER TABLE monitor_events
    -- The order of a monitor's events.
    ADD COLUMN seq         BIGINT GENERATED ALWAYS AS IDENTITY,
    -- The payload as signed and sent, the same bytes at every attempt (decision W3).
    ADD COLUMN body        TEXT NOT NULL,
    -- When the condition of the event was over, where no event of its own says so: sight
    -- has returned after a blind monitor.error (decision S15).
    ADD COLUMN resolved_at TIMESTAMPTZ,
    -- The incident that the event belongs to; NULL: none.
    ADD COLUMN incident_id UUID;

-- The events of a monitor, newest first (decision A8), and its broadcasts.
CREATE INDEX idx_monitor_events_history ON monitor_events (monitor_id, created_at, seq);
-- The deliveries of an incident, by its events.
CREATE INDEX idx_monitor_events_incident ON monitor_events (incident_id) WHERE incident_id IS NOT NULL;

-- An event is updated when it was sent, mostly soon. What is pending changes with each outage of a
-- receiver, and the planner has to know of it.
ALTER TABLE monitor_events SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.01);
