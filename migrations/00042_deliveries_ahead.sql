-- An index for pending deliveries that were planned before the database's clock was set back. It
-- replaces idx_deliveries_planned, which 00043 drops: that one fits every query of pending
-- deliveries. By old statistics the planner took it for the next delivery of each destination, and
-- read the whole backlog for each. No other query has the expression of the new one.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_deliveries_ahead;
CREATE INDEX CONCURRENTLY idx_deliveries_ahead ON deliveries (destination_id, (CASE WHEN state = 'pending' THEN planned_at END))
    WHERE (CASE WHEN state = 'pending' THEN planned_at END) IS NOT NULL;
