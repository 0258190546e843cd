-- Destinations, routes and silences (section 19), and what is delivered by them.

-- +goose Up

-- Counts the changes of the three tables below. A transaction that reads the number it
-- knows need not read them again.
CREATE TABLE routing_version (
    only_row BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
    version  BIGINT  NOT NULL
);
INSERT INTO routing_version (version) VALUES (1);

CREATE TABLE destinations (
    id              UUID        PRIMARY KEY,           -- a UUIDv7
    name            TEXT        NOT NULL UNIQUE,
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
    last_error      TEXT        NOT NULL DEFAULT '',
    delivered_at    TIMESTAMPTZ,                       -- the newest success
    -- The rate limit: tokens left at a time.
    tokens          FLOAT8      NOT NULL DEFAULT 0,
    tokens_at       TIMESTAMPTZ NOT NULL DEFAULT '-infinity',
    created_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at      TIMESTAMPTZ NOT NULL DEFAULT now()
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

-- Many incidents at once are told as one.
CREATE TABLE storms (
    id          UUID        PRIMARY KEY,               -- a UUIDv7
    state       VARCHAR(20) NOT NULL,                  -- open, resolved
    opened_at   TIMESTAMPTZ NOT NULL,
    resolved_at TIMESTAMPTZ,
    streams     INT         NOT NULL,                  -- with an incident in it
    live        INT         NOT NULL,                  -- streams that were live when it was opened
    updated_at  TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX idx_storms_open ON storms (state) WHERE state = 'open';

ALTER TABLE incidents
    ADD COLUMN storm_id              UUID REFERENCES storms (id) ON DELETE SET NULL,
    -- The severity when it was acknowledged: what is worse is told again.
    ADD COLUMN acknowledged_severity SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX idx_incidents_storm ON incidents (storm_id) WHERE storm_id IS NOT NULL;
CREATE INDEX idx_incidents_open_opened ON incidents (opened_at) WHERE state = 'open';

-- What is delivered to destinations. An event has a row at each webhook; an incident or a
-- storm has a row at each of the others, its thread, which becomes pending again whenever
-- there is something to tell.
CREATE TABLE deliveries (
    id              UUID        PRIMARY KEY,           -- a UUIDv7
    destination_id  UUID        NOT NULL REFERENCES destinations (id) ON DELETE CASCADE,
    monitor_id      VARCHAR(37) REFERENCES monitors (id) ON DELETE CASCADE,  -- NULL: of a storm or a notice
    event_id        UUID        REFERENCES monitor_events (id) ON DELETE CASCADE,
    incident_id     UUID        REFERENCES incidents (id) ON DELETE CASCADE,
    storm_id        UUID        REFERENCES storms (id) ON DELETE CASCADE,
    notice          JSONB,                             -- of a destination that was disabled
    sequence        BIGINT,                            -- of the events of a monitor at a webhook, from 1
    route_id        UUID,                              -- that led here first
    delay_sec       INT         NOT NULL DEFAULT 0,
    repeat_sec      INT         NOT NULL DEFAULT 0,
    told            JSONB,                             -- a notify.Told; NULL: nothing was sent
    state           VARCHAR(20) NOT NULL,              -- pending, delivered, failed, idle
    due_at          TIMESTAMPTZ,                       -- by the clock of the database; NULL: nothing is due
    -- The delay that was chosen with due_at. A due_at further away means that the clock of
    -- the database was set back.
    delay_until_due FLOAT8      NOT NULL DEFAULT 0,
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
CREATE INDEX idx_deliveries_due ON deliveries (destination_id, due_at) WHERE state = 'pending';
CREATE INDEX idx_deliveries_list ON deliveries (created_at DESC, id DESC);
CREATE INDEX idx_deliveries_monitor ON deliveries (monitor_id) WHERE monitor_id IS NOT NULL;
