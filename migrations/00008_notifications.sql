-- Destinations, routes and silences (section 19), and what is delivered by them.

-- +goose Up

-- Counts the changes of the three tables below. A transaction that reads the number it
-- knows need not read them again.
CREATE TABLE routing_version (
    only_row        BOOLEAN     PRIMARY KEY DEFAULT true CHECK (only_row),
    version         BIGINT      NOT NULL,
    -- By which the threads of all open incidents were planned last, and when.
    planned_version BIGINT      NOT NULL DEFAULT 0,
    planned_at      TIMESTAMPTZ NOT NULL DEFAULT '-infinity'
);
INSERT INTO routing_version (version) VALUES (1);

CREATE TABLE destinations (
    id              UUID        PRIMARY KEY,           -- a UUIDv7
    name            TEXT        NOT NULL,
    kind            VARCHAR(20) NOT NULL,              -- a row of notify.Channels
    language        VARCHAR(5)  NOT NULL,
    config          JSONB       NOT NULL,              -- the fields that are no secrets
    secrets         BYTEA,                             -- the others, a JSON object, encrypted
    previous_until  TIMESTAMPTZ,                       -- a webhook's former key signs until then
    fallback        UUID        REFERENCES destinations (id) ON DELETE SET NULL,
    enabled         BOOLEAN     NOT NULL DEFAULT true,
    disabled_reason TEXT        NOT NULL DEFAULT '',   -- why the gateway has disabled it
    owner           TEXT        NOT NULL DEFAULT '',   -- of the file that keeps it
    -- The circuit: failures in a row, and when the next attempt may be made.
    failures        INT         NOT NULL DEFAULT 0,
    failing_since   TIMESTAMPTZ,
    closed_until    TIMESTAMPTZ,
    -- When that pause was decided. It is longer than a minute where the provider asks for it, so its
    -- length does not show that the database's clock was set back.
    paused_at       TIMESTAMPTZ,
    last_error      TEXT        NOT NULL DEFAULT '',
    delivered_at    TIMESTAMPTZ,                       -- the newest success
    -- The rate limit: tokens left at a time.
    tokens          FLOAT8      NOT NULL DEFAULT 0,
    tokens_at       TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    -- The monitors take turns (section 19.4): that of the last event that was leased. So a lease goes
    -- no further than the deliveries that it takes.
    last_monitor_id VARCHAR(37) NOT NULL DEFAULT '',
    -- A destination is deleted in steps (section 19.1): it is marked, then its deliveries are deleted
    -- in batches, then its row. NULL: it exists.
    deleted_at      TIMESTAMPTZ,
    created_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX idx_destinations_name ON destinations (name) WHERE deleted_at IS NULL; -- that of a deleted one is free

-- The attempts of a destination by hour, which its list shows (section 19.1). Counting them in
-- deliveries would read all of three days.
CREATE TABLE destination_hours (
    destination_id UUID        NOT NULL REFERENCES destinations (id) ON DELETE CASCADE,
    hour           TIMESTAMPTZ NOT NULL,   -- its beginning
    delivered      INT         NOT NULL,
    failed         INT         NOT NULL,
    PRIMARY KEY (destination_id, hour)
);

CREATE TABLE routes (
    id           UUID        PRIMARY KEY,              -- a UUIDv7
    name         TEXT        NOT NULL UNIQUE,
    position     INT         NOT NULL,                 -- ascending; the default route is last
    match        JSONB       NOT NULL,
    destinations UUID[]      NOT NULL,
    delay_sec    INT         NOT NULL DEFAULT 0,
    repeat_sec   INT         NOT NULL DEFAULT 0,
    continues    BOOLEAN     NOT NULL DEFAULT false,
    is_default   BOOLEAN     NOT NULL DEFAULT false,
    owner        TEXT        NOT NULL DEFAULT '',
    created_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at   TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX idx_routes_default ON routes (is_default) WHERE is_default;
INSERT INTO routes (id, name, position, match, destinations, is_default)
VALUES ('01900000-0000-7000-8000-000000000001', 'default', 2147483647, '{}', '{}', true);

CREATE TABLE silences (
    id              UUID        PRIMARY KEY,           -- a UUIDv7
    match           JSONB       NOT NULL,
    starts_at       TIMESTAMPTZ NOT NULL,
    ends_at         TIMESTAMPTZ,                       -- NULL: never, or by one of the next two
    until_recovered BOOLEAN     NOT NULL DEFAULT false,
    repeats         JSONB,                             -- a notify.Window
    ended_at        TIMESTAMPTZ,                       -- by a person, or by a recovery
    by              TEXT        NOT NULL,
    comment         TEXT        NOT NULL DEFAULT '',
    owner           TEXT        NOT NULL DEFAULT '',
    created_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- What is delivered to destinations. An event has a row at each webhook; an incident or a
-- storm has a row at each of the others, its thread, which becomes pending again whenever
-- there is something to tell.
CREATE TABLE deliveries (
    id              UUID        PRIMARY KEY,           -- a UUIDv7
    destination_id  UUID        NOT NULL REFERENCES destinations (id) ON DELETE CASCADE,
    -- NULL: of a storm or a notice. No foreign key: a sweep adds threads while it holds incidents. The
    -- check would wait for the monitor, and a report that holds the monitor waits for its incident.
    monitor_id      VARCHAR(37),
    event_id        UUID        REFERENCES monitor_events (id) ON DELETE CASCADE,
    incident_id     UUID        REFERENCES incidents (id) ON DELETE CASCADE,
    storm_id        UUID        REFERENCES storms (id) ON DELETE CASCADE,
    notice          JSONB,                             -- of a destination that was disabled
    sequence        BIGINT,                            -- of the events of a monitor at a webhook, from 1
    route_id        UUID,                              -- that led here first
    told            JSONB,                             -- a notify.Notified; NULL: nothing was sent
    changed         BOOLEAN     NOT NULL DEFAULT false, -- what the thread tells has changed since it was leased
    state           VARCHAR(20) NOT NULL,              -- pending, delivered, failed, idle
    due_at          TIMESTAMPTZ,                       -- by the clock of the database; NULL: nothing is due
    -- When due_at was chosen. A planned_at in the future means that the clock of the
    -- database was set back, which a long delay does not.
    planned_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    -- An event that fails holds back those behind it until then, a minute from its first
    -- failure; NULL: it has not failed.
    blocks_until    TIMESTAMPTZ,
    round_began_at  TIMESTAMPTZ NOT NULL DEFAULT now(), -- when the present message was first due
    tried           INT         NOT NULL DEFAULT 0,    -- attempts at the present message
    attempts        JSONB       NOT NULL DEFAULT '[]',
    last_error      TEXT        NOT NULL DEFAULT '',
    leased_until    TIMESTAMPTZ,
    lease           UUID,
    created_at      TIMESTAMPTZ NOT NULL,
    delivered_at    TIMESTAMPTZ
);
CREATE UNIQUE INDEX idx_deliveries_event ON deliveries (event_id, destination_id) WHERE event_id IS NOT NULL;
CREATE UNIQUE INDEX idx_deliveries_incident ON deliveries (incident_id, destination_id) WHERE incident_id IS NOT NULL;
CREATE UNIQUE INDEX idx_deliveries_storm ON deliveries (storm_id, destination_id) WHERE storm_id IS NOT NULL;
CREATE UNIQUE INDEX idx_deliveries_sequence ON deliveries (destination_id, monitor_id, sequence) WHERE sequence IS NOT NULL;
-- Messages by due_at, and events of a destination by monitor: each is leased in its own order. The
-- second has no condition that other indexes have, too: by old statistics the planner would take one
-- of those.
CREATE INDEX idx_deliveries_due ON deliveries (destination_id, due_at) WHERE state = 'pending';
CREATE INDEX idx_deliveries_messages ON deliveries (destination_id, due_at) WHERE state = 'pending' AND sequence IS NULL;
CREATE INDEX idx_deliveries_turns ON deliveries (destination_id, monitor_id, sequence) WHERE due_at IS NOT NULL AND sequence IS NOT NULL;
-- Finds what is in flight.
CREATE INDEX idx_deliveries_leased ON deliveries (destination_id) WHERE lease IS NOT NULL;
-- Finds pending deliveries that were planned before the database's clock was set back. No other query
-- has its expression: an index that fits every query of pending deliveries would be taken, by old
-- statistics, for the next delivery of each destination.
CREATE INDEX idx_deliveries_ahead ON deliveries (destination_id, (CASE WHEN state = 'pending' THEN planned_at END))
    WHERE (CASE WHEN state = 'pending' THEN planned_at END) IS NOT NULL;
-- Finds the threads whose end is not told.
CREATE INDEX idx_deliveries_told_open ON deliveries (incident_id) WHERE told ->> 'open' = 'true';
CREATE INDEX idx_deliveries_monitor ON deliveries (monitor_id) WHERE monitor_id IS NOT NULL;
-- Lists: of all, of one destination, and of those that have failed, which may be replayed.
CREATE INDEX idx_deliveries_list ON deliveries (created_at DESC, id DESC);
CREATE INDEX idx_deliveries_destination ON deliveries (destination_id, created_at, id);
CREATE INDEX idx_deliveries_failed ON deliveries (created_at, id) WHERE state = 'failed';
