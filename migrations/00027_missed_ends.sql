-- Finds the threads whose end is not told.

-- +goose Up
CREATE INDEX idx_deliveries_told_open ON deliveries (incident_id) WHERE told ->> 'open' = 'true';
