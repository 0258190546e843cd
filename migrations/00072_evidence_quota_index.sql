-- Sums the quota of a monitor.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_evidence_blobs_monitor;
CREATE INDEX CONCURRENTLY idx_evidence_blobs_monitor ON evidence_blobs (monitor_id, counted_at);
