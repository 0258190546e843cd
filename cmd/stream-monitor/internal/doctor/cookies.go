package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/login"
)

// cookieJars says which logins the database of DB_DSN has, and which of them a source rejects (section 17.7). A private database
// is not asked: it runs only with its gateway.
func (d Doctor) cookieJars(ctx context.Context) []finding {
	if !d.Settings.Database.HasExternalDatabase() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	jars, err := d.CookieJars(ctx, d.Settings.Database.DBDSN)
	if err != nil || len(jars) == 0 {
		return nil // what keeps the database from answering is a finding of its own; before the first start it has no tables
	}
	all := map[string]login.Standing{}
	for _, jar := range jars {
		all[jar.Name] = jar.Standing
	}
	return []finding{rejections(finding{subject: "cookie jars", expected: "logins that their sources accept", advice: "sign in with a browser, and upload the cookies again (docs/streams.md)"}, "jar", all)}
}

// rejections completes a finding about stored logins, by name: it warns if one is rejected. noun is what one of them is called.
func rejections(f finding, noun string, all map[string]login.Standing) finding {
	var rejected []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if since := all[name].RejectedAt; !since.IsZero() {
			rejected = append(rejected, fmt.Sprintf("%q since %s", name, since.UTC().Format(time.RFC3339)))
		}
	}
	if len(rejected) == 0 {
		return finding{subject: f.subject, verdict: fine, found: count(len(all), noun) + ", none of them rejected"}
	}
	f.verdict, f.found = warn, count(len(all), noun)+"; rejected: "+strings.Join(rejected, ", ")
	return f
}
