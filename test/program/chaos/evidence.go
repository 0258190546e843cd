//go:build linux

package main

import (
	"context"
	"database/sql"
	"fmt"
)

// storedEvidence is a record of evidence in the database.
type storedEvidence struct {
	id, eventID, phase string
	files              int
	brokenFiles        int // whose bytes are not all in the database
}

// readEvidence reads the records of a monitor.
func (m *monitorRecord) readEvidence(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, `
		SELECT e.id, e.event_id, e.phase, count(f.variant), count(f.variant) FILTER (WHERE f.size IS DISTINCT FROM (
			SELECT sum(length(c.data)) FROM blobs b JOIN blob_chunks c ON c.upload = b.upload WHERE b.sha256 = f.sha256 AND b.complete))
		FROM evidence e LEFT JOIN evidence_files f ON f.evidence_id = e.id
		WHERE e.monitor_id = $1 GROUP BY e.id ORDER BY e.id`, m.id)
	if err != nil {
		return fmt.Errorf("read the evidence: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var e storedEvidence
		if err := rows.Scan(&e.id, &e.eventID, &e.phase, &e.files, &e.brokenFiles); err != nil {
			return err
		}
		m.evidence = append(m.evidence, e)
	}
	return rows.Err()
}

// checkEvidence checks that each record is of a stored event, that no event has two
// records of a phase, and that each file has its bytes. Evidence may be missing: a worker
// that was killed has taken it along.
func (m *monitorRecord) checkEvidence() (findings []string) {
	events := map[string]bool{}
	for _, e := range m.events {
		events[e.id] = true
	}
	seen := map[string]string{}
	for _, e := range m.evidence {
		if !events[e.eventID] {
			findings = append(findings, fmt.Sprintf("evidence %s is of event %s, which is not stored", e.id, e.eventID))
		}
		if e.brokenFiles > 0 {
			findings = append(findings, fmt.Sprintf("evidence %s lacks the bytes of %d of its %d files", e.id, e.brokenFiles, e.files))
		}
		key := e.eventID + " " + e.phase
		if other := seen[key]; other != "" {
			findings = append(findings, fmt.Sprintf("event %s has two records of evidence, %s and %s", e.eventID, other, e.id))
		}
		seen[key] = e.id
	}
	return findings
}
