-- The list of monitors that cannot observe their stream is short, among many monitors
-- (section 16.6).

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_monitors_blind;
CREATE INDEX CONCURRENTLY idx_monitors_blind ON monitors (seq) WHERE blind_since IS NOT NULL;
