package doctor

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// twitchAPI checks that Twitch accepts the credentials of the application (decision S23), if there are some.
func (d Doctor) twitchAPI(ctx context.Context) []finding {
	const subject = "Twitch API"
	switch {
	case d.Settings.Twitch.ClientID == "":
		return nil
	case d.Settings.Twitch.ClientSecret == "":
		return []finding{{subject, fail, "TWITCH_CLIENT_SECRET is not set", "both credentials of an application", "set TWITCH_CLIENT_SECRET, too"}}
	case d.Settings.Offline:
		return []finding{{subject: subject, verdict: fine, found: "not asked (--offline)"}}
	}
	failure := d.AskTwitchAPI(ctx, []string{string(monitor.Twitch)}).Failure() // Twitch's own channel
	switch {
	case failure == nil:
		return []finding{{subject: subject, verdict: fine, found: "accepts TWITCH_CLIENT_ID and its secret"}}
	case failure.Kind == officialstate.RateLimited:
		return []finding{{subject, warn, failure.Detail, "points of the application", "give stream-monitor an application of its own; until then streams are watched as without one"}}
	case failure.Kind == officialstate.KeyRefused:
		return []finding{{subject, fail, failure.Detail, "an application that Twitch knows", "correct TWITCH_CLIENT_ID and TWITCH_CLIENT_SECRET"}}
	}
	return []finding{{subject, fail, failure.Detail, "an answer of id.twitch.tv and api.twitch.tv", "check the firewall and the proxy; or leave this check out with --offline"}}
}
