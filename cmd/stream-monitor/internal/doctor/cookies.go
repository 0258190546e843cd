package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"
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
	f := finding{subject: "cookie jars", verdict: fine, found: count(len(jars), "jar") + ", none of them rejected"}
	var rejected []string
	for _, jar := range jars {
		if !jar.RejectedAt.IsZero() {
			rejected = append(rejected, fmt.Sprintf("%q since %s", jar.Name, jar.RejectedAt.UTC().Format(time.RFC3339)))
		}
	}
	if len(rejected) > 0 {
		f.verdict, f.found = warn, count(len(jars), "jar")+"; rejected: "+strings.Join(rejected, ", ")
		f.expected, f.advice = "logins that their sources accept", "sign in with a browser, and upload the cookies again (docs/streams.md)"
	}
	return []finding{f}
}
