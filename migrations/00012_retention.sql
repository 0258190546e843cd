-- The retention of events and incidents (section 16.5).

-- +goose Up
ALTER TABLE monitors
    -- When the last of its events and incidents was deleted; NULL: it may have some.
    ADD COLUMN expired_at TIMESTAMPTZ;

-- Finds the ended monitors that may have events or incidents. Ended monitors stay for
-- ever, so a search among all of them would take longer each year.
CREATE INDEX idx_monitors_unexpired ON monitors (ended_at, id)
    WHERE ended_at IS NOT NULL AND expired_at IS NULL;
