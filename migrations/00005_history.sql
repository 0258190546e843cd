-- The history of monitors (section 16.3).

-- +goose Up

-- The present state of each lane of an active monitor. It is written only when a state changes.
CREATE TABLE history_lanes (
    monitor_id VARCHAR(37) NOT NULL REFERENCES monitors (id),
    lane       VARCHAR(10) NOT NULL, -- stream, video, audio, segments
    state      VARCHAR(40) NOT NULL,
    since      TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (monitor_id, lane)
) WITH (fillfactor = 70);

-- The states before. Spans of one lane do not overlap. The thousand spans of a month lie in as many
-- pages of the table: the index has all columns, so that these are not read.
CREATE TABLE history_spans (
    monitor_id VARCHAR(37) NOT NULL REFERENCES monitors (id),
    lane       VARCHAR(10) NOT NULL,
    state      VARCHAR(40) NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (monitor_id, lane, started_at)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02); -- an index is read alone where pages were vacuumed
-- A timeline.
CREATE INDEX idx_history_spans_monitor_ended ON history_spans (monitor_id, ended_at) INCLUDE (lane, state, started_at);
-- Statistics, which count less than half of the spans.
CREATE INDEX idx_history_spans_counted ON history_spans (monitor_id, ended_at) INCLUDE (lane, state, started_at)
    WHERE lane = 'segments' AND state NOT IN ('unknown', 'paused') OR lane = 'stream' AND state IN ('blind', 'paused')
        OR lane IN ('video', 'audio') AND state NOT IN ('ok', 'unknown', 'none', 'paused');
-- What expires.
CREATE INDEX idx_history_spans_ended ON history_spans (ended_at);

-- Luma and sound level of each minute. A timeline of a month reads 50,000 minutes of one monitor.
-- The rows of all monitors are stored in the order of time, so nearly each is in another page. The
-- index has all columns, so that these pages are not read. The price: an update of a minute also
-- updates the index.
CREATE TABLE history_minutes (
    monitor_id VARCHAR(37) NOT NULL REFERENCES monitors (id),
    minute     TIMESTAMPTZ NOT NULL,
    since      TIMESTAMPTZ NOT NULL, -- of the worker's first measurement: two workers may share a minute
    luma_min   REAL        NOT NULL DEFAULT 0,
    luma_mean  REAL        NOT NULL DEFAULT 0,
    luma_max   REAL        NOT NULL DEFAULT 0,
    luma_n     INT         NOT NULL DEFAULT 0, -- 0: no picture was measured
    level_min  REAL        NOT NULL DEFAULT 0,
    level_mean REAL        NOT NULL DEFAULT 0,
    level_max  REAL        NOT NULL DEFAULT 0,
    level_n    INT         NOT NULL DEFAULT 0, -- 0: no sound was measured
    PRIMARY KEY (monitor_id, minute, since)
        INCLUDE (luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02);
-- The oldest minutes that are not merged, and what expires.
CREATE INDEX idx_history_minutes_minute ON history_minutes (minute);

-- Each row merges the minutes that begin within ten, once they do not change any more.
CREATE TABLE history_ten_minutes (
    monitor_id VARCHAR(37) NOT NULL REFERENCES monitors (id),
    begins     TIMESTAMPTZ NOT NULL,
    luma_min   REAL        NOT NULL,
    luma_mean  REAL        NOT NULL,
    luma_max   REAL        NOT NULL,
    luma_n     INT         NOT NULL,
    level_min  REAL        NOT NULL,
    level_mean REAL        NOT NULL,
    level_max  REAL        NOT NULL,
    level_n    INT         NOT NULL,
    PRIMARY KEY (monitor_id, begins)
        INCLUDE (luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02);
-- What expires.
CREATE INDEX idx_history_ten_minutes_begins ON history_ten_minutes (begins);

-- Minutes before until have been merged; of the ten that begin then, those of monitors up to
-- monitor_id. The table has one row.
CREATE TABLE history_merged (
    until      TIMESTAMPTZ NOT NULL,
    monitor_id VARCHAR(37) NOT NULL DEFAULT ''
);
INSERT INTO history_merged (until) VALUES ('1970-01-01 00:00:00+00');

-- What the recorded history suggests about a stream (section 16.7), as the elected gateway finds it each minute.
CREATE TABLE hints (
    monitor_id VARCHAR(37) NOT NULL REFERENCES monitors (id) ON DELETE CASCADE,
    kind       VARCHAR(40) NOT NULL, -- quieter, recurring, late_starts
    condition  VARCHAR(40) NOT NULL, -- of recurring; '': another kind
    since      TIMESTAMPTZ NOT NULL,
    numbers    JSONB       NOT NULL, -- that made it, by name
    ended_at   TIMESTAMPTZ           -- NULL: it holds
);
-- Those that hold, which lists of monitors show. Each is there once.
CREATE UNIQUE INDEX idx_hints_holding ON hints (monitor_id, kind, condition) WHERE ended_at IS NULL;
-- Those of the time of an incident.
CREATE INDEX idx_hints_monitor ON hints (monitor_id, since);
-- What expires.
CREATE INDEX idx_hints_ended ON hints (ended_at) WHERE ended_at IS NOT NULL;
