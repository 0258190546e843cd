-- Indexes that the measured plans lacked (make bench-api).

-- +goose Up
-- A timeline of a month reads 50,000 minutes of one monitor. The rows of all monitors are
-- stored in the order of time, so nearly each is in another page. The index has all columns, so
-- that these pages are not read. The price: an update of a minute also updates the indexes.
ALTER TABLE history_minutes DROP CONSTRAINT history_minutes_pkey;
ALTER TABLE history_minutes ADD PRIMARY KEY (monitor_id, minute, since)
    INCLUDE (luma_min, luma_mean, luma_max, luma_n, level_min, level_mean, level_max, level_n);

-- Statistics read the incidents that were opened within a time.
CREATE INDEX idx_incidents_opened ON incidents (opened_at);
