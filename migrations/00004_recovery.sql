-- What finding lost workers needs.

-- +goose Up
ALTER TABLE monitors
    -- Where the newest worker was launched: who can see whether it runs (decision O3).
    ADD COLUMN place VARCHAR(63) NOT NULL DEFAULT '';
