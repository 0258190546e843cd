-- +goose Up
-- Why a worker knows nothing of its stream at present (decision S15): since, class, egress. NULL: it knows.
ALTER TABLE monitors ADD COLUMN unseen JSONB;
