-- What finding lost workers needs.

-- +goose Up
ALTER TABLE monitors
    -- Where the newest worker was launched: who can see whether it runs (decision O3).
    ADD COLUMN place VARCHAR(63) NOT NULL DEFAULT '',
    -- When the newest report of the newest generation was made, by its worker's clock.
    -- Reports may overtake each other; an older one must not put an older snapshot back.
    ADD COLUMN reported_at TIMESTAMPTZ;
