-- The monitors take turns at a destination (section 19.4). So a lease goes no further than the
-- deliveries that it takes.

-- +goose Up
ALTER TABLE destinations ADD COLUMN last_monitor_id VARCHAR(37) NOT NULL DEFAULT '';  -- of the last event that was leased
-- Like idx_deliveries_queue, but without a condition that other indexes have, too: by old
-- statistics the planner would take one of those.
CREATE INDEX idx_deliveries_turns ON deliveries (destination_id, monitor_id, sequence) WHERE due_at IS NOT NULL AND sequence IS NOT NULL;
