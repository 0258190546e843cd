-- Whose quota of evidence a blob counts for, and since when (section 16.2): the monitor whose upload
-- was the first. NULL: nobody's.

-- +goose Up
ALTER TABLE evidence_blobs
    ADD COLUMN monitor_id VARCHAR(37),
    ADD COLUMN counted_at TIMESTAMPTZ;
