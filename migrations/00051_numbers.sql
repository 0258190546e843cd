-- Numbers of streams, by which people call them (section 16.6): a new monitor gets the smallest that
-- is free. monitor_numbers has each number that was ever given, and free_at is when it is free again;
-- NULL while its monitor is active. Without the index a registration would read all numbers that are
-- taken. 0 is the number of a monitor that a gateway of the version before has registered.

-- +goose Up
ALTER TABLE monitors ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
CREATE TABLE monitor_numbers (
    number  INTEGER PRIMARY KEY,
    free_at TIMESTAMPTZ
);
CREATE INDEX idx_monitor_numbers_free ON monitor_numbers (number) WHERE free_at IS NOT NULL;
