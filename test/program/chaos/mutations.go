//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// mutations are the violations that -mutate commits at the end of a run without faults. They
// show that the audit finds what it is for.
var mutations = []struct {
	description string
	statement   string // returns what it has changed
	finding     string // part of what the audit must find
}{
	{"an accepted event is deleted", `
		DELETE FROM monitor_events WHERE id = (SELECT id FROM monitor_events WHERE event_type LIKE 'alert.%' ORDER BY seq LIMIT 1) RETURNING id`,
		"was accepted and is not stored"},
	{"an event is delivered again", `
		UPDATE deliveries SET state = 'pending', due_at = now()
		WHERE id = (SELECT id FROM monitor_events WHERE event_type LIKE 'alert.%' ORDER BY seq DESC LIMIT 1) RETURNING id`,
		"came again at"},
	{"a channel is never told of a recovery", `
		UPDATE deliveries SET told = told || '{"open": false}' WHERE id = (
			SELECT x.id FROM deliveries x JOIN destinations d ON d.id = x.destination_id LEFT JOIN incidents i ON i.id = x.incident_id
			WHERE d.name = 'teams' AND x.told IS NOT NULL AND (i.state = 'open' OR NOT x.storm ? 'resolved_at') ORDER BY x.storm IS NULL LIMIT 1) RETURNING id`,
		"is not resolved"},
}

// mutate commits the mutations.
func (env *environment) mutate(ctx context.Context) (err error) {
	for _, m := range mutations {
		changed, statementErr := env.texts(ctx, m.statement)
		env.logf("mutation: %s: %v", m.description, changed)
		err = errors.Join(err, statementErr)
	}
	pause(ctx, 3*time.Second) // before the streams end
	return err
}

// checkMutations returns an error unless the findings of the audit name every mutation.
func checkMutations(findings []string) error {
	for _, m := range mutations {
		if !slices.ContainsFunc(findings, func(finding string) bool { return strings.Contains(finding, m.finding) }) {
			return fmt.Errorf("the audit does not find that %s", m.description)
		}
	}
	fmt.Printf("\nThe seed failed, as it must: the audit has found all %d violations that were committed on purpose.\n", len(mutations))
	return nil
}
