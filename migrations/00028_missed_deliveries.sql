-- Events whose deliveries to destinations the server has refused. They are added later
-- (section 19.4).

-- +goose Up
ALTER TABLE monitor_events ADD COLUMN deliveries_missed BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX idx_monitor_events_missed ON monitor_events (seq) WHERE deliveries_missed;
