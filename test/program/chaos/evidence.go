//go:build linux

package main

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// storedEvidence is a record of evidence in the database.
type storedEvidence struct {
	id, eventID, phase string
	files              int
	brokenFiles        int // whose bytes are not all in the database
}

// readEvidence reads the records of a monitor.
func (env *environment) readEvidence(ctx context.Context, m *monitorRecord) error {
	return env.eachRow(ctx, `
		SELECT e.id, e.event_id, e.phase, count(f.variant), count(f.variant) FILTER (WHERE f.size IS DISTINCT FROM (
			SELECT sum(length(c.data)) FROM blobs b JOIN blob_chunks c ON c.upload = b.upload WHERE b.sha256 = f.sha256 AND b.complete))
		FROM evidence e LEFT JOIN evidence_files f ON f.evidence_id = e.id
		WHERE e.monitor_id = $1 GROUP BY e.id ORDER BY e.id`, func(rows *sql.Rows) error {
		var e storedEvidence
		err := rows.Scan(&e.id, &e.eventID, &e.phase, &e.files, &e.brokenFiles)
		m.evidence = append(m.evidence, e)
		return err
	}, m.id)
}

// captureTime is how long a worker may take to capture and upload the evidence of an alert.
const captureTime = 10 * time.Second

// checkEvidence checks that each record is of a stored event, that no event has two
// records of a phase, that each file has its bytes, and that the first alert has evidence: later
// ones may come too soon. After a fault it may be missing, too: a worker that was killed has
// taken it along.
func (a *audit) checkEvidence(m *monitorRecord) {
	first := slices.IndexFunc(a.callbacks, func(d webhookreceiver.Delivery) bool {
		return d.MonitorID == m.id && strings.HasPrefix(d.EventType, "alert.")
	})
	if first >= 0 {
		d := a.callbacks[first]
		has := slices.ContainsFunc(m.evidence, func(e storedEvidence) bool { return e.eventID == d.EventID })
		if !has && !a.disturbed(m, d.Received, d.Received.Add(captureTime)) {
			a.findLost("monitor %d: the evidence of %s %s", m.number, d.EventType, d.EventID)
		}
	}
	seen := map[string]string{}
	for _, e := range m.evidence {
		if !slices.ContainsFunc(m.events, func(event storedEvent) bool { return event.id == e.eventID }) {
			a.find("monitor %d: evidence %s is of event %s, which is not stored", m.number, e.id, e.eventID)
		}
		if e.brokenFiles > 0 {
			a.findLost("monitor %d: the bytes of %d of the %d files of evidence %s", m.number, e.brokenFiles, e.files, e.id)
		}
		key := e.eventID + " " + e.phase
		if other := seen[key]; other != "" {
			a.find("monitor %d: event %s has two records of evidence, %s and %s", m.number, e.eventID, other, e.id)
		}
		seen[key] = e.id
	}
}
