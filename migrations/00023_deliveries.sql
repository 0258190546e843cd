-- What storing, leasing and recording deliveries to destinations needs (section 19.4).

-- +goose Up
ALTER TABLE deliveries
    -- A sweep adds threads while it holds incidents. The check of this reference would wait for
    -- the monitor, and a report that holds the monitor waits for its incident.
    DROP CONSTRAINT deliveries_monitor_id_fkey,
    -- Routes say it, as they are when a message is chosen.
    DROP COLUMN delay_sec,
    DROP COLUMN repeat_sec,
    -- When due_at was chosen. A planned_at in the future means that the clock of the
    -- database was set back, which a long delay does not.
    DROP COLUMN delay_until_due,
    ADD COLUMN planned_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    -- What the thread tells has changed since it was leased.
    ADD COLUMN changed      BOOLEAN     NOT NULL DEFAULT false,
    -- An event that fails holds back those behind it until then, a minute from its first
    -- failure; NULL: it has not failed.
    ADD COLUMN blocks_until TIMESTAMPTZ;

-- Messages by due_at, and events of a destination by monitor: each is leased in its own order.
CREATE INDEX idx_deliveries_messages ON deliveries (destination_id, due_at) WHERE state = 'pending' AND sequence IS NULL;
CREATE INDEX idx_deliveries_queue ON deliveries (destination_id, monitor_id, sequence) WHERE state = 'pending' AND sequence IS NOT NULL;
-- Finds what is in flight, and what was planned before the clock was set back.
CREATE INDEX idx_deliveries_leased ON deliveries (destination_id) WHERE lease IS NOT NULL;
CREATE INDEX idx_deliveries_planned ON deliveries (planned_at) WHERE state = 'pending';
-- Lists of those that have failed, which may be replayed, and of one destination.
CREATE INDEX idx_deliveries_failed ON deliveries (created_at, id) WHERE state = 'failed';
CREATE INDEX idx_deliveries_destination ON deliveries (destination_id, created_at, id);

-- A storm may last for days because of one stream. What begins meanwhile is another storm.
DROP INDEX idx_storms_open;
CREATE INDEX idx_storms_open ON storms (opened_at) WHERE state = 'open';
ALTER TABLE storms DROP COLUMN streams; -- its incidents are counted

ALTER TABLE routing_version
    -- By which the threads of all open incidents were planned last, and when.
    ADD COLUMN planned_version BIGINT      NOT NULL DEFAULT 0,
    ADD COLUMN planned_at      TIMESTAMPTZ NOT NULL DEFAULT '-infinity';
