-- A resolved incident in which something goes on (section 16.1) has a due_at. It is read with those
-- that are open: by every look at what the watch sees, and by every reader of the feed.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_incidents_going_on;
CREATE INDEX CONCURRENTLY idx_incidents_going_on ON incidents (seq) WHERE state = 'open' OR due_at IS NOT NULL;
