-- A destination is deleted in steps (section 19.1): it is marked, then its deliveries are
-- deleted in batches, then its row.

-- +goose Up
ALTER TABLE destinations
    ADD COLUMN deleted_at TIMESTAMPTZ,       -- NULL: it exists
    DROP CONSTRAINT destinations_name_key;   -- the name of a deleted one is free
CREATE UNIQUE INDEX idx_destinations_name ON destinations (name) WHERE deleted_at IS NULL;
