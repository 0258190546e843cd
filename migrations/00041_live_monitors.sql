-- The list of monitors whose stream is live is short, among many that wait (section 16.6).

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_monitors_live;
CREATE INDEX CONCURRENTLY idx_monitors_live ON monitors (seq)
    WHERE stream_status = 'live' AND status IN ('initializing', 'waiting', 'monitoring');
