-- What the dashboard reads (section 17).

-- +goose Up
-- Failed deliveries are few among many; the list of them is newest first.
CREATE INDEX idx_monitor_events_failed ON monitor_events (created_at, id) WHERE webhook_status = 'failed';
