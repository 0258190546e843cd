-- Incidents (section 16.1): the trouble of a stream, from onset to recovery.

-- +goose Up

-- Many incidents at once are told as one (section 19.7). A storm is of one condition, and of the
-- minute after its first incident. It may last for days because of one stream; what begins
-- meanwhile is another storm.
CREATE TABLE storms (
    id          UUID        PRIMARY KEY,               -- a UUIDv7
    state       VARCHAR(20) NOT NULL,                  -- open, resolved
    condition   TEXT        NOT NULL DEFAULT '',
    severity    INT         NOT NULL DEFAULT 0,        -- of the condition of its first incident
    first_at    TIMESTAMPTZ NOT NULL DEFAULT now(),
    opened_at   TIMESTAMPTZ NOT NULL,
    resolved_at TIMESTAMPTZ,
    live        INT         NOT NULL,                  -- streams that are watched, also those that have not begun
    updated_at  TIMESTAMPTZ NOT NULL
);
CREATE INDEX idx_storms_open ON storms (opened_at) WHERE state = 'open';

CREATE TABLE incidents (
    id                    UUID        PRIMARY KEY,  -- a UUIDv7
    -- The order in which they were opened: of one monitor, and of the pages of lists.
    seq                   BIGINT      GENERATED ALWAYS AS IDENTITY,
    monitor_id            VARCHAR(37) NOT NULL REFERENCES monitors (id),
    storm_id              UUID        REFERENCES storms (id) ON DELETE SET NULL,
    uncounted             BOOLEAN     NOT NULL DEFAULT false, -- it was not looked at whether it is part of a storm
    state                 VARCHAR(20) NOT NULL,     -- open, resolved
    severity              SMALLINT    NOT NULL,     -- 0 to 3, the highest so far
    severity_now          SMALLINT    NOT NULL DEFAULT 0, -- of what lasts
    -- [{"condition", "started_at", "last_started_at", "ended_at", "count", "longest"}]
    conditions            JSONB       NOT NULL,
    started_at            TIMESTAMPTZ NOT NULL,     -- onset of the first condition
    opened_at             TIMESTAMPTZ NOT NULL,     -- when that was detected
    resolved_at           TIMESTAMPTZ,
    resolved_by           TEXT        NOT NULL DEFAULT '', -- empty: nobody, it was quiet
    quiet_sec             INT         NOT NULL,     -- how long all has to be good before it is resolved
    reopened              INT         NOT NULL,     -- how often
    acknowledged_by       TEXT        NOT NULL DEFAULT '',
    acknowledged_at       TIMESTAMPTZ,
    -- The severity when it was acknowledged: what is worse is told again.
    acknowledged_severity SMALLINT    NOT NULL DEFAULT 0,
    -- Also those before it was reopened: [{"by", "at", "severity"}], in order.
    acknowledgements      JSONB       NOT NULL DEFAULT '[]',
    false_positive        BOOLEAN,                  -- NULL: nobody has judged
    picture               JSONB,                    -- the best one; NULL: there is none
    -- When time alone changes it next, by the clock of the database; NULL: never.
    due_at                TIMESTAMPTZ,
    updated_at            TIMESTAMPTZ NOT NULL
);

-- A monitor has at most one open incident.
CREATE UNIQUE INDEX idx_incidents_open ON incidents (monitor_id) WHERE state = 'open';
-- The newest incident of a monitor, and the lists, newest first.
CREATE INDEX idx_incidents_monitor ON incidents (monitor_id, seq);
CREATE UNIQUE INDEX idx_incidents_seq ON incidents (seq);
-- Open incidents are few among many.
CREATE INDEX idx_incidents_open_seq ON incidents (seq) WHERE state = 'open';
CREATE INDEX idx_incidents_open_opened ON incidents (opened_at) WHERE state = 'open';
-- A resolved incident in which something goes on has a due_at. It is read with those that are open:
-- by every look at what the watch sees, and by every reader of the feed.
CREATE INDEX idx_incidents_going_on ON incidents (seq) WHERE state = 'open' OR due_at IS NOT NULL;
-- Finds those with a rare condition.
CREATE INDEX idx_incidents_conditions ON incidents USING gin (conditions jsonb_path_ops);
-- Finds what is due.
CREATE INDEX idx_incidents_due ON incidents (due_at) WHERE due_at IS NOT NULL;
-- Statistics read the incidents that were opened within a time.
CREATE INDEX idx_incidents_opened ON incidents (opened_at);
-- Finds what was resolved shortly before; most incidents were resolved long ago.
CREATE INDEX idx_incidents_resolved ON incidents (resolved_at) WHERE state = 'resolved';
-- Every sweep of evidence asks for severe incidents; most are mild.
CREATE INDEX idx_incidents_severe ON incidents (id) WHERE severity >= 2;
CREATE INDEX idx_incidents_storm ON incidents (storm_id) WHERE storm_id IS NOT NULL;
CREATE INDEX idx_incidents_uncounted ON incidents (opened_at) WHERE uncounted;

-- What happened to an incident, and what operators did about it.
CREATE TABLE incident_log (
    id             BIGINT      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    incident_id    UUID        NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
    kind           VARCHAR(20) NOT NULL,      -- opened, reopened, resolved, acknowledged, severity_raised, note, label
    at             TIMESTAMPTZ NOT NULL,
    by             TEXT        NOT NULL DEFAULT '',
    text           TEXT        NOT NULL DEFAULT '',
    false_positive BOOLEAN,
    severity       INT,                       -- of severity_raised: the severity from then on; NULL: another kind
    op_id          TEXT                       -- of an action; it happens once for each
);
CREATE INDEX idx_incident_log_incident ON incident_log (incident_id, id);
CREATE UNIQUE INDEX idx_incident_log_op ON incident_log (incident_id, op_id) WHERE op_id IS NOT NULL;
