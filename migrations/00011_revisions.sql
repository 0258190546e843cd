-- Changes of running monitors (section 16.6).

-- +goose Up
ALTER TABLE monitors
    -- Counts the changes of config, callback_url and metadata. A worker with an older one
    -- requests its assignment again.
    ADD COLUMN revision INT NOT NULL DEFAULT 0;
