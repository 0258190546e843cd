-- What was refused when it was stored, and is made up for later (sections 19.4 and 19.7).

-- +goose Up
ALTER TABLE monitor_events ADD COLUMN incident_refused BOOLEAN NOT NULL DEFAULT false; -- only with deliveries_missed
