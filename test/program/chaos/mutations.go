//go:build linux

package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// mutations are the violations that -mutate commits at the end of a run without faults. They
// show that the audit finds what it is for.
var mutations = []struct {
	description string
	target      string // a query for the ID of what the statement changes
	statement   string
	finding     string // part of what the audit must find
}{
	{
		"an accepted event is deleted", `SELECT id FROM monitor_events WHERE event_type LIKE 'alert.%' ORDER BY seq LIMIT 1`,
		`DELETE FROM monitor_events WHERE id = $1`, "was accepted and is not in the database",
	},
	{
		"an event is delivered again", `SELECT id FROM monitor_events WHERE event_type LIKE 'alert.%' ORDER BY seq DESC LIMIT 1`,
		`UPDATE deliveries SET state = 'pending', due_at = now() WHERE id = $1`, "came again at",
	},
	{
		"a channel is never told of a recovery", `
		SELECT x.id FROM deliveries x JOIN destinations d ON d.id = x.destination_id LEFT JOIN incidents i ON i.id = x.incident_id
		WHERE d.name = 'teams' AND x.told IS NOT NULL AND (i.state = 'open' OR NOT x.storm ? 'resolved_at') ORDER BY x.storm IS NULL LIMIT 1`,
		`UPDATE deliveries SET told = told || '{"open": false}' WHERE id = $1`, "is not resolved",
	},
}

// mutate commits the mutations.
func (env *environment) mutate(ctx context.Context) error {
	err := env.withDatabase(func(db *sql.DB) error {
		for _, m := range mutations {
			var id string
			if err := db.QueryRowContext(ctx, m.target).Scan(&id); err != nil {
				return fmt.Errorf("%s: %w", m.description, err)
			}
			env.logf("mutation: %s: %s", m.description, id)
			if _, err := db.ExecContext(ctx, m.statement, id); err != nil {
				return fmt.Errorf("%s: %w", m.description, err)
			}
		}
		return nil
	})
	pause(ctx, 3*time.Second) // before the streams end
	return err
}

// missedMutations describes the mutations that are not among the findings of the audit.
func missedMutations(findings []string) (missed []string) {
	for _, m := range mutations {
		if !slices.ContainsFunc(findings, func(finding string) bool { return strings.Contains(finding, m.finding) }) {
			missed = append(missed, "not found: "+m.description)
		}
	}
	return missed
}
