-- What GET and the history show of detectors and of blindness.

-- +goose Up
ALTER TABLE monitor_stats
    -- Alerts of each detector beyond blackout and silence, by the detector's name.
    ADD COLUMN detector_events JSONB NOT NULL DEFAULT '{}';

ALTER TABLE monitors
    -- The newest failure to observe the stream; '': the newest attempt succeeded (decision S15).
    ADD COLUMN last_error       TEXT NOT NULL DEFAULT '',
    -- Since when nothing could be learned; NULL: no blindness is open (decision S15).
    ADD COLUMN blind_since      TIMESTAMPTZ,
    -- When the stream's state or its media were last observed.
    ADD COLUMN last_observed_at TIMESTAMPTZ;

ALTER TABLE monitor_events
    -- When the condition of the event was over, where no event of its own says so: sight
    -- has returned after a blind monitor.error (decision S15).
    ADD COLUMN resolved_at TIMESTAMPTZ;
