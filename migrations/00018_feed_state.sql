-- What state.replace shows beside monitors and open incidents (section 16.4).

-- +goose Up
-- Finds what was resolved shortly before; most incidents were resolved long ago.
CREATE INDEX idx_incidents_resolved ON incidents (resolved_at) WHERE state = 'resolved';
