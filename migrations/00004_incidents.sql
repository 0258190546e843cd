-- Incidents (section 16.1): the trouble of a stream, from onset to recovery.

-- +goose Up

CREATE TABLE incidents (
    id                    UUID        PRIMARY KEY,  -- a UUIDv7
    -- The order in which they were opened: of one monitor, and of the pages of lists.
    seq                   BIGINT      GENERATED ALWAYS AS IDENTITY,
    monitor_id            VARCHAR(37) NOT NULL REFERENCES monitors (id),
    -- How often it has changed since it was last decided where it is told (section 19.4); 0: not at all.
    unrouted              INT         NOT NULL DEFAULT 1,
    state                 VARCHAR(20) NOT NULL,     -- open, resolved
    severity              SMALLINT    NOT NULL,     -- 0 to 3, the highest so far
    severity_now          SMALLINT    NOT NULL DEFAULT 0, -- of what lasts
    -- [{"condition", "started_at", "last_started_at", "ended_at", "count", "longest"}]
    conditions            JSONB       NOT NULL,
    started_at            TIMESTAMPTZ NOT NULL,     -- onset of the first condition
    opened_at             TIMESTAMPTZ NOT NULL,     -- when that was detected
    resolved_at           TIMESTAMPTZ,
    resolved_by           TEXT        NOT NULL DEFAULT '', -- empty: nobody, it was quiet
    resolved_by_pause     BOOLEAN     NOT NULL DEFAULT false, -- because its stream was paused
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
    -- When somebody was last asked for a second opinion about the stream (section 19.9); NULL: never.
    asked_at              TIMESTAMPTZ,
    -- When an alert is to be asked about, or a question ends to which nobody answers; NULL: neither.
    opinion_due_at        TIMESTAMPTZ,
    updated_at            TIMESTAMPTZ NOT NULL
);

-- An incident is updated some ten times, most of it soon after it was opened.
ALTER TABLE incidents SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- A monitor has at most one open incident, which the lists of monitors show.
CREATE UNIQUE INDEX idx_incidents_open ON incidents (monitor_id) WHERE state = 'open';
-- The newest incident of a monitor, which each report locks, and the list of those of a monitor.
CREATE INDEX idx_incidents_monitor ON incidents (monitor_id, seq);
-- The list of all, newest first.
CREATE UNIQUE INDEX idx_incidents_seq ON incidents (seq);
-- Those that are open, or resolved with something that goes on, which has a due_at: the list with
-- state=open, trouble=true, every look at what the watch sees, and every reader of the feed.
CREATE INDEX idx_incidents_going_on ON incidents (seq) WHERE state = 'open' OR due_at IS NOT NULL;
-- The list of those with a rare condition.
CREATE INDEX idx_incidents_conditions ON incidents USING gin (conditions jsonb_path_ops);
-- What time changes next, every 2 s.
CREATE INDEX idx_incidents_due ON incidents (due_at) WHERE due_at IS NOT NULL;
-- What is to be asked about, twice a second where second opinions are wanted.
CREATE INDEX idx_incidents_opinion_due ON incidents (opinion_due_at) WHERE opinion_due_at IS NOT NULL;
-- Statistics of a time.
CREATE INDEX idx_incidents_opened ON incidents (opened_at);
-- What was resolved in the last minutes, for a new reader of the feed.
CREATE INDEX idx_incidents_resolved ON incidents (resolved_at) WHERE state = 'resolved';
-- Severe incidents among many, whose evidence is quarantined at each sweep.
CREATE INDEX idx_incidents_severe ON incidents (id) WHERE severity >= 2;
-- Every lease of deliveries asks for those that are not routed.
CREATE INDEX idx_incidents_unrouted ON incidents (id) WHERE unrouted > 0;

-- What happened to an incident, and what operators did about it.
CREATE TABLE incident_log (
    id             BIGINT      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    incident_id    UUID        NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
    kind           VARCHAR(20) NOT NULL,      -- opened, reopened, resolved, paused, acknowledged, severity_raised, note, label, opinion
    at             TIMESTAMPTZ NOT NULL,
    by             TEXT        NOT NULL DEFAULT '',
    text           TEXT        NOT NULL DEFAULT '',
    false_positive BOOLEAN,
    severity       INT,                       -- of severity_raised: the severity from then on; NULL: another kind
    verdict        VARCHAR(20),               -- of opinion: what came of a question; NULL: another kind
    op_id          TEXT                       -- of an action; it happens once for each
);
-- The log of an incident, and when it was reopened last, for its messages.
CREATE INDEX idx_incident_log_incident ON incident_log (incident_id, id);
-- Whether an action was done.
CREATE UNIQUE INDEX idx_incident_log_op ON incident_log (incident_id, op_id) WHERE op_id IS NOT NULL;

ALTER TABLE monitors
    -- Since when its incidents and its history cannot be stored; NULL: they are. Its events and their
    -- deliveries are stored all the same.
    ADD COLUMN record_parked_since TIMESTAMPTZ,
    -- When that was tried last; NULL: it is tried with the next report.
    ADD COLUMN record_tried_at     TIMESTAMPTZ;
