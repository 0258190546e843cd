-- A storm is of one condition, and of the minute after its first incident (section 19.7). live
-- counts the streams that are watched, also those that have not begun.

-- +goose Up
ALTER TABLE storms
    ADD COLUMN first_at  TIMESTAMPTZ NOT NULL DEFAULT now(),
    ADD COLUMN condition TEXT        NOT NULL DEFAULT '',
    ADD COLUMN severity  INT         NOT NULL DEFAULT 0; -- of the condition of its first incident
