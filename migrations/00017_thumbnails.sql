-- Thumbnails of the wall (section 17.2). Losing them in a crash costs a page 30 seconds,
-- which is worth not writing a log.

-- +goose Up
-- The monitors that a page shows at present. A lease is renewed while the page is visible.
CREATE UNLOGGED TABLE thumbnail_leases (
    monitor_id   VARCHAR(37) PRIMARY KEY,
    wanted_until TIMESTAMPTZ NOT NULL
);

-- The newest thumbnail of each monitor, for all gateways.
CREATE UNLOGGED TABLE thumbnails (
    monitor_id VARCHAR(37) PRIMARY KEY,
    taken_at   TIMESTAMPTZ NOT NULL,
    stored_at  TIMESTAMPTZ NOT NULL,
    jpeg       BYTEA       NOT NULL
);
-- A JPEG is compressed already.
ALTER TABLE thumbnails ALTER COLUMN jpeg SET STORAGE EXTERNAL;
