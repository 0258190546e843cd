-- The attempts of a destination by hour, which its list shows (section 19.1). Counting them
-- in deliveries would read all of three days.

-- +goose Up
CREATE TABLE destination_hours (
    destination_id UUID        NOT NULL REFERENCES destinations (id) ON DELETE CASCADE,
    hour           TIMESTAMPTZ NOT NULL,   -- its beginning
    delivered      INT         NOT NULL,
    failed         INT         NOT NULL,
    PRIMARY KEY (destination_id, hour)
);
