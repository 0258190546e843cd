-- An index for the heads of queues. Every other index of pending events has a predicate that
-- webhook_status = 'pending' implies. While the statistics know of few pending events, the planner
-- takes such an index and sorts all pending events for each head. IS NOT DISTINCT FROM implies
-- none of them. idx_monitor_events_queue stays for gateways of the version before.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS idx_monitor_events_heads;
CREATE INDEX CONCURRENTLY idx_monitor_events_heads ON monitor_events (monitor_id, seq)
    WHERE webhook_status IS NOT DISTINCT FROM 'pending' AND NOT long_schedule;
