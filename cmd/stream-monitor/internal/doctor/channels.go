package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// channels says how many channels the database of DB_DSN has, and which of them cannot be read (section 20.2). A private
// database is not asked: it runs only with its gateway.
func (d Doctor) channels(ctx context.Context) []finding {
	if !d.Settings.Database.HasExternalDatabase() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	all, err := d.Channels(ctx, d.Settings.Database.DBDSN)
	if err != nil || len(all) == 0 {
		return nil // what keeps the database from answering is a finding of its own; before the first start it has no tables
	}
	f := finding{subject: "channels", verdict: fine, found: fmt.Sprintf("%d registered, all of them can be read", len(all))}
	var unreadable []string
	for _, c := range all {
		if r := c.Reading; !r.UnreadableSince.IsZero() {
			unreadable = append(unreadable, fmt.Sprintf("%s since %s (%s)", c.Address, r.UnreadableSince.UTC().Format(time.RFC3339), r.LastFailure))
		}
	}
	if n := len(unreadable); n > 0 {
		f.verdict, f.found = warn, fmt.Sprintf("%d registered; %d cannot be read: %s", len(all), n, strings.Join(unreadable[:min(n, maxNamedChannels)], ", "))
		f.expected, f.advice = "pages that can be read", "open one in a browser; if it is there, look at the egress addresses (docs/operations/proxies.md)"
	}
	return []finding{f}
}

// maxNamedChannels is how many channels a finding names.
const maxNamedChannels = 5
