-- Destinations, routes and silences (section 19), and what is delivered by them.

-- +goose Up

-- Counts the changes of the four tables below. A transaction that reads the number it
-- knows need not read them again.
CREATE TABLE routing_version (
    only_row        BOOLEAN     PRIMARY KEY DEFAULT true CHECK (only_row),
    version         BIGINT      NOT NULL,
    -- By which all open incidents were routed last. An older one: all are to be routed anew.
    routed_version  BIGINT      NOT NULL DEFAULT 1,
    -- When the routes lead elsewhere by themselves, so that all open incidents are to be routed anew: see
    -- notify.Routing.NextChange. NULL: never.
    changes_at      TIMESTAMPTZ
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
    disabled_reason TEXT        NOT NULL DEFAULT '',   -- gone or failed_for_days: why the gateway has disabled it
    owner           TEXT        NOT NULL DEFAULT '',   -- of the file that keeps it
    -- The circuit: failures in a row, and when the next attempt may be made.
    failures        INT         NOT NULL DEFAULT 0,
    failing_since   TIMESTAMPTZ,
    circuit_open_until TIMESTAMPTZ,
    last_error      TEXT        NOT NULL DEFAULT '',
    delivered_at    TIMESTAMPTZ,                       -- the newest success
    -- The rate limit: tokens that were left at a time.
    tokens          FLOAT8      NOT NULL DEFAULT 0,
    tokens_at       TIMESTAMPTZ,                       -- NULL: all of them are left
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
    windows      JSONB       NOT NULL DEFAULT '[]',    -- of notify.Window
    destinations UUID[]      NOT NULL,
    on_duty      BOOLEAN     NOT NULL DEFAULT false,
    delay_sec    INT         NOT NULL DEFAULT 0,
    repeat_sec   INT         NOT NULL DEFAULT 0,
    continues    BOOLEAN     NOT NULL DEFAULT false,
    is_default   BOOLEAN     NOT NULL DEFAULT false,
    owner        TEXT        NOT NULL DEFAULT '',
    created_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at   TIMESTAMPTZ NOT NULL DEFAULT now()
);
-- The default route: there is one, which a notice about a disabled destination goes to.
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
    skip_until      TIMESTAMPTZ,                       -- until then it holds nothing back; NULL: nothing is skipped
    ended_at        TIMESTAMPTZ,                       -- by a person, or by a recovery
    by              TEXT        NOT NULL,
    comment         TEXT        NOT NULL DEFAULT '',
    owner           TEXT        NOT NULL DEFAULT '',
    created_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Who is on duty: one row. Its lists are short, and read and changed as a whole.
CREATE TABLE duty (
    only_row        BOOLEAN     PRIMARY KEY DEFAULT true CHECK (only_row),
    people          JSONB       NOT NULL DEFAULT '[]', -- of notify.Person
    overrides       JSONB       NOT NULL DEFAULT '[]', -- of notify.Override
    owner           TEXT        NOT NULL DEFAULT '',   -- of the file that keeps the people
    updated_at      TIMESTAMPTZ NOT NULL DEFAULT now()
);
INSERT INTO duty DEFAULT VALUES;

-- The outbox: what goes to the callback of a monitor, and what goes to destinations. An event has a
-- row for the callback and one at each webhook. An incident has a row at each destination for
-- messages, its thread, which is pending again whenever there may be something to tell; so has a
-- storm, at the destination that it was found at.
CREATE TABLE deliveries (
    id             UUID        PRIMARY KEY,           -- a UUIDv7; of a callback's delivery, that of its event
    destination_id UUID        REFERENCES destinations (id) ON DELETE CASCADE, -- NULL: the callback of the monitor
    monitor_id     VARCHAR(37),                       -- NULL: of a storm, or of a destination that was disabled
    event_id       UUID        REFERENCES monitor_events (id) ON DELETE CASCADE,
    incident_id    UUID        REFERENCES incidents (id) ON DELETE CASCADE,
    storm          JSONB,                             -- a storedStorm: this is the thread of a storm
    storm_id       UUID        REFERENCES deliveries (id) ON DELETE SET NULL, -- the thread of the storm that tells of the incident
    notice         JSONB,                             -- of a destination that was disabled, or of a hint
    sequence       BIGINT,                            -- of the events of a monitor at a webhook, from 1
    route_id       UUID,                              -- that led here first
    -- The events of a monitor at one receiver are sent one after the other, by seq. Only the first has
    -- a due_at, or one that is about to lose it. NULL: nothing is behind it, or nothing waits for it any more.
    queue          TEXT,
    seq            BIGINT      GENERATED ALWAYS AS IDENTITY,
    state          VARCHAR(20) NOT NULL,              -- pending, delivered, failed, dropped (by a second opinion), idle
    -- By the clock of the database; NULL: nothing is due. While it is leased: when the lease ends.
    due_at         TIMESTAMPTZ,
    lease          TEXT,                              -- the gateway that sends it, and which of its leases; NULL: none
    told           JSONB,                             -- a notify.Notified; NULL: nothing was sent
    changed        BOOLEAN     NOT NULL DEFAULT false, -- it is to be decided anew what the thread tells
    round_began_at TIMESTAMPTZ NOT NULL DEFAULT now(), -- when the present message was first due
    failing_since  TIMESTAMPTZ,                       -- the first failure of the present message; NULL: there is none
    tried          INT         NOT NULL DEFAULT 0,    -- attempts at the present message
    attempts       JSONB       NOT NULL DEFAULT '[]',
    last_error     TEXT        NOT NULL DEFAULT '',
    created_at     TIMESTAMPTZ NOT NULL,
    delivered_at   TIMESTAMPTZ
);
-- The deliveries of an event and, by its events, of an incident: their lists, and whether the event may expire.
CREATE UNIQUE INDEX idx_deliveries_event ON deliveries (event_id, destination_id) WHERE event_id IS NOT NULL;
-- The threads of an incident: those that a change makes due, and whether the incident may expire. Each destination has one.
CREATE UNIQUE INDEX idx_deliveries_incident ON deliveries (incident_id, destination_id) WHERE incident_id IS NOT NULL;
-- The threads that are in a storm: what its message counts, and whether it may expire.
CREATE INDEX idx_deliveries_storm ON deliveries (storm_id) WHERE storm_id IS NOT NULL;
-- The next sequence of a monitor at a webhook.
CREATE UNIQUE INDEX idx_deliveries_sequence ON deliveries (destination_id, monitor_id, sequence) WHERE sequence IS NOT NULL;
-- The first of a queue.
CREATE INDEX idx_deliveries_queue ON deliveries (queue, seq) WHERE queue IS NOT NULL;
-- What was made while an event was added behind it, and has yet to leave its queue.
CREATE INDEX idx_deliveries_left ON deliveries (id) WHERE queue IS NOT NULL AND state <> 'pending';
-- A lease asks when a callback is due.
CREATE INDEX idx_deliveries_due_callbacks ON deliveries (due_at) WHERE destination_id IS NULL AND due_at IS NOT NULL;
-- A lease takes due callbacks: those that others may wait for, and of the others the first of each monitor.
CREATE INDEX idx_deliveries_queued_callbacks ON deliveries (due_at) WHERE destination_id IS NULL AND queue IS NOT NULL AND due_at IS NOT NULL;
CREATE INDEX idx_deliveries_late_callbacks ON deliveries (monitor_id, due_at, id) WHERE destination_id IS NULL AND queue IS NULL AND due_at IS NOT NULL;
-- A lease takes what is due at a destination, decides anew about the threads that have changed, and counts what is in flight
-- there.
CREATE INDEX idx_deliveries_due ON deliveries (destination_id, due_at) WHERE destination_id IS NOT NULL AND due_at IS NOT NULL;
CREATE INDEX idx_deliveries_changed ON deliveries (destination_id, due_at) WHERE changed AND due_at IS NOT NULL;
CREATE INDEX idx_deliveries_leased ON deliveries (destination_id, due_at) WHERE lease IS NOT NULL;
-- The list of all.
CREATE INDEX idx_deliveries_list ON deliveries (created_at, id);
-- The list of one monitor, and what fails when its callback ends it.
CREATE INDEX idx_deliveries_monitor ON deliveries (monitor_id) WHERE monitor_id IS NOT NULL;
-- The list of one destination, and what is deleted with it.
CREATE INDEX idx_deliveries_destination ON deliveries (destination_id, created_at, id) WHERE destination_id IS NOT NULL;
-- Those that have failed: their list, what is replayed, and what a new reader of the feed gets.
CREATE INDEX idx_deliveries_failed ON deliveries (created_at, id) WHERE state = 'failed';
-- The list of those that a second opinion has dropped.
CREATE INDEX idx_deliveries_dropped ON deliveries (created_at, id) WHERE state = 'dropped';

-- Each delivery is updated a few times, and its place in the indexes of what is due changes.
ALTER TABLE deliveries SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.01);
