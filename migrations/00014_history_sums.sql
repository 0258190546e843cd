-- Luma and sound level by ten minutes (section 16.3).

-- +goose Up
-- A timeline of a month would read 50,000 minutes of one monitor. Each row merges the minutes
-- that begin within ten, once they do not change any more.
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
);
CREATE INDEX idx_history_ten_minutes_begins ON history_ten_minutes (begins);

-- Minutes before this time have been merged. The table has one row.
CREATE TABLE history_merged (until TIMESTAMPTZ NOT NULL);
INSERT INTO history_merged VALUES ('1970-01-01 00:00:00+00');

-- The thousand spans of a month lie in as many pages of the table, too.
DROP INDEX idx_history_spans_monitor_ended;
CREATE INDEX idx_history_spans_monitor_ended ON history_spans (monitor_id, ended_at) INCLUDE (lane, state, started_at);
