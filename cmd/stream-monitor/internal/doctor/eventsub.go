package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// eventSub says what Twitch pushes (decision S28), by the database of DB_DSN: a private one runs only with its gateway.
func (d Doctor) eventSub(ctx context.Context) []finding {
	if d.Settings.Twitch.ClientID == "" || !d.Settings.Database.HasExternalDatabase() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	state, err := d.EventSub(ctx, d.Settings.Database.DBDSN)
	if err != nil || state.Client == "" {
		return nil // what keeps the database from answering is a finding of its own; before the first start it has no tables
	}
	s := state.Status()
	found := []string{fmt.Sprintf("%d subscriptions by %s", s.Subscriptions, s.Transport)}
	if s.ConnectedAt != nil {
		found = append(found, "connected since "+s.ConnectedAt.UTC().Format(time.RFC3339))
	}
	if s.MessageAt != nil {
		found = append(found, "the newest push at "+s.MessageAt.UTC().Format(time.RFC3339))
	}
	f := finding{subject: "Twitch pushes", verdict: fine, found: strings.Join(found, ", ")}
	if s.Failure != nil {
		f.verdict, f.found = warn, fmt.Sprintf("%s; %d are missing: %s", f.found, s.Missing, *s.Failure)
		f.expected, f.advice = "a push of each start", "look at docs/operations/twitch.md; until then starts are found without pushes, only later"
	}
	return []finding{f}
}
