-- Incidents (section 16.1): the trouble of a stream, from onset to recovery.

-- +goose Up
CREATE TABLE incidents (
    id              UUID        PRIMARY KEY,  -- a UUIDv7
    -- The order in which they were opened: of one monitor, and of the pages of lists.
    seq             BIGINT      GENERATED ALWAYS AS IDENTITY,
    monitor_id      VARCHAR(37) NOT NULL REFERENCES monitors (id),
    state           VARCHAR(20) NOT NULL,     -- open, resolved
    severity        SMALLINT    NOT NULL,     -- 0 to 3, the highest so far
    -- [{"condition", "started_at", "last_started_at", "ended_at", "count", "longest"}]
    conditions      JSONB       NOT NULL,
    started_at      TIMESTAMPTZ NOT NULL,     -- onset of the first condition
    opened_at       TIMESTAMPTZ NOT NULL,     -- when that was detected
    resolved_at     TIMESTAMPTZ,
    quiet_sec       INT         NOT NULL,     -- how long all has to be good before it is resolved
    reopened        INT         NOT NULL,     -- how often
    acknowledged_by TEXT        NOT NULL DEFAULT '',
    acknowledged_at TIMESTAMPTZ,
    false_positive  BOOLEAN,                  -- NULL: nobody has judged
    picture         JSONB,                    -- the best one; NULL: there is none
    -- When time alone changes it next, by the clock of the database; NULL: never.
    due_at          TIMESTAMPTZ,
    updated_at      TIMESTAMPTZ NOT NULL
);

-- A monitor has at most one open incident.
CREATE UNIQUE INDEX idx_incidents_open ON incidents (monitor_id) WHERE state = 'open';

-- The newest incident of a monitor, and the lists, newest first.
CREATE INDEX idx_incidents_monitor ON incidents (monitor_id, seq);
CREATE UNIQUE INDEX idx_incidents_seq ON incidents (seq);

-- Open incidents are few among many.
CREATE INDEX idx_incidents_open_seq ON incidents (seq) WHERE state = 'open';

-- Finds those with a rare condition.
CREATE INDEX idx_incidents_conditions ON incidents USING gin (conditions jsonb_path_ops);

-- Finds what is due.
CREATE INDEX idx_incidents_due ON incidents (due_at) WHERE due_at IS NOT NULL;

-- What happened to an incident, and what operators did about it.
CREATE TABLE incident_log (
    id             BIGINT      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    incident_id    UUID        NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
    kind           VARCHAR(20) NOT NULL,      -- opened, reopened, resolved, acknowledged, note, label
    at             TIMESTAMPTZ NOT NULL,
    by             TEXT        NOT NULL DEFAULT '',
    text           TEXT        NOT NULL DEFAULT '',
    false_positive BOOLEAN,
    op_id          TEXT                       -- of an action; it happens once for each
);
CREATE INDEX idx_incident_log_incident ON incident_log (incident_id, id);
CREATE UNIQUE INDEX idx_incident_log_op ON incident_log (incident_id, op_id) WHERE op_id IS NOT NULL;

ALTER TABLE monitor_events
    -- The incident that the event belongs to; NULL: none.
    ADD COLUMN incident_id UUID;
CREATE INDEX idx_monitor_events_incident ON monitor_events (incident_id) WHERE incident_id IS NOT NULL;
