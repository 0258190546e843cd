-- Indexes that serve nothing. 00042 has replaced the first, 00031 the second.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_deliveries_planned;
DROP INDEX CONCURRENTLY IF EXISTS idx_deliveries_queue;
