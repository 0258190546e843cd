-- Who took an incident, also before it was reopened, and how severe it is now (section 16.1).

-- +goose Up
ALTER TABLE incidents
    -- [{"by", "at", "severity"}], in order
    ADD COLUMN acknowledgements JSONB NOT NULL DEFAULT '[]',
    -- who resolved it; empty: nobody, it was quiet
    ADD COLUMN resolved_by TEXT NOT NULL DEFAULT '',
    -- of what lasts; severity is the worst so far
    ADD COLUMN severity_now SMALLINT NOT NULL DEFAULT 0;
