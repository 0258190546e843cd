-- Active monitors whose picture or sound is bad (section 16.6): few among many, as those that are blind.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_monitors_bad;
CREATE INDEX CONCURRENTLY idx_monitors_bad ON monitors (id) WHERE status IN ('initializing', 'waiting', 'monitoring')
    AND (health_video NOT IN ('ok', 'unknown', '') OR health_audio NOT IN ('ok', 'unknown', ''));
