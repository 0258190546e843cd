-- The queue of each monitor's callback: what events need beyond section 9.1.

-- +goose Up
ALTER TABLE monitor_events
    -- The place in the monitor's queue: first in, first out (decision W2). An event
    -- that is to be delivered again gets a new place, at the end.
    ADD COLUMN seq               BIGINT GENERATED ALWAYS AS IDENTITY,
    -- The payload as signed and sent, the same bytes at every attempt (decision W3).
    ADD COLUMN body              TEXT NOT NULL,
    -- Not to be sent before (decision W3); by the clock of the database.
    ADD COLUMN next_attempt_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    -- The pause that was chosen with next_attempt_at, in seconds. A next_attempt_at further
    -- away means that the clock of the database was set back.
    ADD COLUMN retry_sec         FLOAT8 NOT NULL DEFAULT 0,
    -- The event no longer blocks those behind it (section 19.5).
    ADD COLUMN long_schedule     BOOLEAN NOT NULL DEFAULT false,
    -- Being sent by a gateway until then (decision W2); by the clock of the database.
    ADD COLUMN leased_until      TIMESTAMPTZ,
    -- Which lease leased_until is of. Whoever asked for it names it when it records
    -- what came of it, and when it has to ask again because the answer got lost.
    ADD COLUMN lease             UUID,
    -- Each attempt: [{"at", "status", "error"}] (decision W3).
    ADD COLUMN attempts          JSONB NOT NULL DEFAULT '[]',
    -- When the condition of the event was over, where no event of its own says so: sight
    -- has returned after a blind monitor.error (decision S15).
    ADD COLUMN resolved_at       TIMESTAMPTZ,
    -- The incident that the event belongs to; NULL: none.
    ADD COLUMN incident_id       UUID,
    -- What was refused when the event was stored, and is made up for later (sections 19.4 and 19.7).
    ADD COLUMN deliveries_missed BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN incident_refused  BOOLEAN NOT NULL DEFAULT false; -- only with deliveries_missed

-- Finds the head of each monitor's queue without reading the rest of it.
CREATE INDEX idx_monitor_events_queue ON monitor_events (monitor_id, seq)
    WHERE webhook_status = 'pending' AND NOT long_schedule;
-- Finds the heads of all queues. Every other index of pending events has a predicate that
-- webhook_status = 'pending' implies. While the statistics know of few pending events, the planner
-- takes such an index and sorts all pending events for each head. IS NOT DISTINCT FROM implies
-- none of them.
CREATE INDEX idx_monitor_events_heads ON monitor_events (monitor_id, seq)
    WHERE webhook_status IS NOT DISTINCT FROM 'pending' AND NOT long_schedule;
CREATE INDEX idx_monitor_events_long ON monitor_events (monitor_id, seq)
    WHERE webhook_status = 'pending' AND long_schedule;
CREATE INDEX idx_monitor_events_missed ON monitor_events (seq) WHERE deliveries_missed;
-- A monitor's history, newest first (decision A8).
CREATE INDEX idx_monitor_events_history ON monitor_events (monitor_id, created_at, seq);
CREATE INDEX idx_monitor_events_incident ON monitor_events (incident_id) WHERE incident_id IS NOT NULL;
-- Failed deliveries are few among many; the list of them is newest first.
CREATE INDEX idx_monitor_events_failed ON monitor_events (created_at, id) WHERE webhook_status = 'failed';
