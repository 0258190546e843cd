-- Indexes that find the evidence of severe incidents (section 16.2).

-- +goose Up
-- Every sweep asks for normal evidence of severe incidents. Most evidence is normal, and most
-- incidents are mild; without these indexes a sweep reads either all of the one or of the other.
CREATE INDEX idx_incidents_severe ON incidents (id) WHERE severity >= 2;
CREATE INDEX idx_evidence_normal ON evidence (incident_id) WHERE class = 'normal';
