package doctor

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// youTubeAPI checks that the YouTube Data API accepts the key (decision S23), if there is one. That takes one of the day's units.
func (d Doctor) youTubeAPI(ctx context.Context) []finding {
	const subject = "YouTube Data API"
	switch {
	case d.Settings.YouTube.APIKey == "":
		return nil
	case d.Settings.Offline:
		return []finding{{subject: subject, verdict: fine, found: "not asked (--offline)"}}
	}
	failure := d.AskYouTubeAPI(ctx, []string{"jNQXAC9IVRw"}).Failure() // a video that is public since 2005
	switch {
	case failure == nil:
		return []finding{{subject: subject, verdict: fine, found: "accepts YOUTUBE_API_KEY; the question took one of the day's units"}}
	case failure.Kind == officialstate.QuotaExceeded:
		return []finding{{subject, warn, failure.Detail, "units until midnight in Los Angeles", "give stream-monitor a project of its own; until then streams are watched as without a key"}}
	case failure.Kind == officialstate.KeyRefused:
		return []finding{{subject, fail, failure.Detail, "a key that this machine may use", `correct YOUTUBE_API_KEY, or its restrictions, or enable "YouTube Data API v3" in its project`}}
	}
	return []finding{{subject, fail, failure.Detail, "an answer of www.googleapis.com", "check the firewall and the proxy; or leave this check out with --offline"}}
}
