-- Indexes that serve nothing. 00042 has replaced the first, 00031 the second. A gateway of the
-- version before reads the backlog once in each lease without the first, until it is replaced.
-- With it, this version could read the backlog for each destination.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_deliveries_planned;
DROP INDEX CONCURRENTLY IF EXISTS idx_deliveries_queue;
