-- What was refused when it was stored, and is made up for later (sections 19.4 and 19.7).

-- +goose Up
ALTER TABLE monitor_events ADD COLUMN incident_refused BOOLEAN NOT NULL DEFAULT false; -- only with deliveries_missed
ALTER TABLE incidents ADD COLUMN uncounted BOOLEAN NOT NULL DEFAULT false;             -- it was not looked at whether it is part of a storm
CREATE INDEX idx_incidents_uncounted ON incidents (opened_at) WHERE uncounted;
