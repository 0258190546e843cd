-- When a pause of a destination was decided. It is longer than a minute where the provider asks
-- for it, so its length does not show any more that the database's clock was set back.

-- +goose Up
ALTER TABLE destinations ADD COLUMN paused_at TIMESTAMPTZ;
