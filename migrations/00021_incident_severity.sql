-- When the severity of an incident rose (section 16.1).

-- +goose Up
ALTER TABLE incident_log
    ADD COLUMN severity INT; -- of severity_raised: the severity from then on; NULL: another kind
