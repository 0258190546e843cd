package doctor

import (
	"context"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// ingest checks that Google knows the OAuth client (decision S24), if there is one, and says which logins of owners it rejects. A private
// database is not asked: it runs only with its gateway.
func (d Doctor) ingest(ctx context.Context) []finding {
	const subject = "YouTube OAuth client"
	if d.Settings.YouTube.OAuthClientID == "" {
		return nil
	}
	var found []finding
	if d.Settings.Offline {
		found = append(found, finding{subject: subject, verdict: fine, found: "not asked (--offline)"})
	} else {
		found = append(found, oauthClient(subject, d.AskOAuth(ctx)))
	}
	if !d.Settings.Database.HasExternalDatabase() {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	logins, err := d.IngestLogins(ctx, d.Settings.Database.DBDSN)
	if err != nil || len(logins) == 0 {
		return found // what keeps the database from answering is a finding of its own
	}
	all := map[string]login.Standing{}
	for _, l := range logins {
		all[l.Name] = l.Standing
	}
	return append(found, rejections(finding{subject: "logins of owners", expected: "logins that Google accepts", advice: "let the owner sign in, and replace the login on the page Settings (docs/operations/youtube.md)"}, "login", all))
}

// oauthClient judges the answer to a question with a token that nobody has: who knows the client refuses the token.
func oauthClient(subject string, r officialstate.Response) finding {
	failure := r.Failure()
	switch {
	case slices.Contains(r.Reasons, "invalid_grant"):
		return finding{subject: subject, verdict: fine, found: "Google knows YOUTUBE_OAUTH_CLIENT_ID and its secret"}
	case failure == nil:
		return finding{subject, fail, "an answer that is none of Google", "an answer of oauth2.googleapis.com", "check the firewall and the proxy"}
	case len(r.Reasons) > 0:
		return finding{subject, fail, failure.Detail, "an OAuth client that Google knows", "correct YOUTUBE_OAUTH_CLIENT_ID and YOUTUBE_OAUTH_CLIENT_SECRET"}
	}
	return finding{subject, fail, failure.Detail, "an answer of oauth2.googleapis.com", "check the firewall and the proxy; or leave this check out with --offline"}
}
