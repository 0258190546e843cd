-- An incident that somebody had acknowledged before its severity was kept counts as taken.

-- +goose Up
UPDATE incidents SET acknowledged_severity = severity
WHERE state = 'open' AND acknowledged_by <> '' AND acknowledged_severity = 0;
