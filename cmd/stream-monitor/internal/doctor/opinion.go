package doctor

import (
	"context"
	"fmt"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// opinion checks that the endpoint of second opinions answers (section 19.9), if there is one.
func (d Doctor) opinion(ctx context.Context) []finding {
	const subject = "second opinion"
	f := d.Settings.Opinion
	switch {
	case f.SecondOpinionURL == "":
		return nil
	case len(f.SecondOpinionKey) == 0:
		return []finding{{subject, fail, "SECOND_OPINION_KEY is not set", "a key, because SECOND_OPINION_URL is set", "set it to a secret that the endpoint knows, such as the output of: openssl rand -hex 32"}}
	case d.Settings.Offline:
		return []finding{{subject: subject, verdict: fine, found: f.SecondOpinionURL + " was not asked (--offline)"}}
	}
	o := d.AskOpinion(ctx, f, d.Settings.CallbackAllowedNetworks)
	if o.Verdict == incident.OpinionUnknown {
		return []finding{{subject, fail, fmt.Sprintf("%s: %s", f.SecondOpinionURL, o.Reason), "an opinion within 5 s (section 19.9)",
			"check SECOND_OPINION_URL and SECOND_OPINION_KEY, CALLBACK_ALLOWED_NETWORKS, and that the endpoint answers questions with test: true"}}
	}
	return []finding{{subject: subject, verdict: fine, found: fmt.Sprintf("%s answers: %s", f.SecondOpinionURL, o.Verdict)}}
}
