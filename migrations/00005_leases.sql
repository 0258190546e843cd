-- What leases need whose answers get lost.

-- +goose Up
ALTER TABLE monitor_events
    -- Which lease leased_until is of. Whoever asked for it names it when it records
    -- what came of it, and when it has to ask again because the answer got lost.
    ADD COLUMN lease UUID;
