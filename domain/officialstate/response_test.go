package officialstate_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

var moment = time.Date(2026, 1, 15, 20, 0, 0, 0, time.UTC)

func TestATimeOfTheAPIIsNewerThanItsIndex(t *testing.T) {
	for name, c := range map[string]struct {
		video officialstate.Broadcast
		want  monitor.StreamStatus
	}{
		"scheduled":                         {officialstate.Broadcast{State: "upcoming"}, monitor.StreamUpcoming},
		"started, and the index is late":    {officialstate.Broadcast{State: "upcoming", ActualStart: moment}, monitor.StreamLive},
		"live":                              {officialstate.Broadcast{State: "live", ActualStart: moment}, monitor.StreamLive},
		"live, and the start is not known":  {officialstate.Broadcast{State: "live"}, monitor.StreamLive},
		"ended":                             {officialstate.Broadcast{State: "none", ActualStart: moment, ActualEnd: moment}, monitor.StreamEnded},
		"ended, and the index is late":      {officialstate.Broadcast{State: "live", ActualStart: moment, ActualEnd: moment}, monitor.StreamEnded},
		"ended, in another word":            {officialstate.Broadcast{State: "completed"}, monitor.StreamEnded},
		"an ordinary video":                 {officialstate.Broadcast{State: "none"}, monitor.StreamUnknown},
		"a word that is not known":          {officialstate.Broadcast{State: "paused", ActualStart: moment}, monitor.StreamUnknown},
		"a premiere, made already":          {officialstate.Broadcast{State: "upcoming", Upload: "processed"}, monitor.StreamUpcoming},
		"rejected, whatever the index says": {officialstate.Broadcast{State: "live", ActualStart: moment, Upload: "rejected"}, monitor.StreamUnknown},
		"nothing but an id":                 {officialstate.Broadcast{}, monitor.StreamUnknown},
	} {
		equal(t, name, c.video.Status(), c.want)
	}
}

func TestAnIDThatTheAPIDoesNotHaveIsUnknown(t *testing.T) {
	r := officialstate.Response{Status: 200, Broadcasts: []officialstate.Broadcast{{ID: "b", State: "live"}, {ID: "nobody asked", State: "live"}}}
	equal(t, "the states", r.States([]officialstate.Stream{{MonitorID: "1", SourceID: "a"}, {MonitorID: "2", SourceID: "b"}}),
		map[monitor.ID]monitor.StreamStatus{"1": monitor.StreamUnknown, "2": monitor.StreamLive})
}

func TestAPlaceThatTheAPIDoesNotHaveWaits(t *testing.T) {
	r := officialstate.Response{Status: 200, Broadcasts: []officialstate.Broadcast{{ID: "b", State: "live"}}}
	equal(t, "the states", r.States([]officialstate.Stream{{MonitorID: "1", SourceID: "a", Place: true}, {MonitorID: "2", SourceID: "b", Place: true}}),
		map[monitor.ID]monitor.StreamStatus{"1": monitor.StreamUpcoming, "2": monitor.StreamLive})
}

func TestARefusalIsToldByItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		response officialstate.Response
		want     officialstate.FailureKind
	}{
		"the day's units":           {officialstate.Response{Status: 403, Reasons: []string{"quotaExceeded", "PERMISSION_DENIED"}}, officialstate.QuotaExceeded},
		"in the older word":         {officialstate.Response{Status: 403, Reasons: []string{"dailyLimitExceeded"}}, officialstate.QuotaExceeded},
		"with another status":       {officialstate.Response{Status: 429, Reasons: []string{"quotaExceeded"}}, officialstate.QuotaExceeded},
		"too fast":                  {officialstate.Response{Status: 403, Reasons: []string{"userRateLimitExceeded"}}, officialstate.RateLimited},
		"too fast, by its status":   {officialstate.Response{Status: 429, Reasons: []string{"RESOURCE_EXHAUSTED"}}, officialstate.RateLimited},
		"not enabled":               {officialstate.Response{Status: 403, Reasons: []string{"accessNotConfigured"}}, officialstate.KeyRefused},
		"a wrong key":               {officialstate.Response{Status: 400, Reasons: []string{"keyInvalid"}}, officialstate.KeyRefused},
		"a fault of the server":     {officialstate.Response{Status: 503, Reasons: []string{"backendError"}}, officialstate.Unreachable},
		"no response":               {officialstate.Response{Detail: "no route"}, officialstate.Unreachable},
		"a proxy's refusal":         {officialstate.Response{Status: 407, Detail: "none of the API"}, officialstate.Malformed},
		"a redirect":                {officialstate.Response{Status: 302, Detail: "none of the API"}, officialstate.Malformed},
		"an answer that is no list": {officialstate.Response{Status: 200, Detail: "not a list"}, officialstate.Malformed},
	} {
		f := c.response.Failure()
		if f == nil || f.Kind != c.want {
			t.Errorf("%s: %+v, want %s", name, f, c.want)
		}
	}
	if f := (officialstate.Response{Status: 200}).Failure(); f != nil {
		t.Errorf("an answer without videos is a failure: %+v", f)
	}
}
