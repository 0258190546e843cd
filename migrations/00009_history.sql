-- The history of monitors (section 16.3).

-- +goose Up
ALTER TABLE monitors
    -- When the newest report of an earlier generation was made; reported_at is that of the newest.
    ADD COLUMN seen_at TIMESTAMPTZ;

-- The present state of each lane of an active monitor. It is written only when a state changes.
CREATE TABLE history_lanes (
    monitor_id VARCHAR(37) NOT NULL REFERENCES monitors (id),
    lane       VARCHAR(10) NOT NULL, -- stream, video, audio, segments
    state      VARCHAR(40) NOT NULL,
    since      TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (monitor_id, lane)
);

-- The states before. Spans of one lane do not overlap.
CREATE TABLE history_spans (
    monitor_id VARCHAR(37) NOT NULL REFERENCES monitors (id),
    lane       VARCHAR(10) NOT NULL,
    state      VARCHAR(40) NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (monitor_id, lane, started_at)
);
CREATE INDEX idx_history_spans_monitor_ended ON history_spans (monitor_id, ended_at);
CREATE INDEX idx_history_spans_ended ON history_spans (ended_at);

-- Luma and sound level of each minute.
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
);
CREATE INDEX idx_history_minutes_minute ON history_minutes (minute);
