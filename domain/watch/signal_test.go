package watch_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestTroubleIsSignalledFromTheOnsetThatWasAlertedToItsEnd(t *testing.T) { // 16.1
	for name, c := range map[string]struct {
		set     []option
		signals string
	}{
		"a playlist that stood still":            {[]option{stalls(200, 300)}, "no_media from 200, no_media from 200 to 300"},
		"failing segments":                       {[]option{noSegment(195, 300)}, "no_media from 200, no_media from 200 to 300"},
		"a failing playlist":                     {[]option{noPlaylist(195, 300)}, "no_media from 200, no_media from 200 to 320"},
		"sound and picture apart":                {[]option{apart, noSegment(195, 300)}, "no_media from 200, no_media from 200 to 300"},
		"the picture alone":                      {[]option{apart, noSegmentIn("/picture", 195, 300)}, "no_media from 200, no_media from 200 to 300"},
		"an outage that is too short":            {[]option{noPlaylist(195, 230)}, ""},
		"an outage that is over at the answer":   {[]option{noPlaylist(195, 270), unanswered(195, 400)}, ""},
		"an outage across a restart":             {[]option{stalls(200, 400), restarts(300, 303)}, "no_media from 200, no_media from 200 to 403"},
		"an outage that the stream's end ends":   {[]option{stalls(200, never), endsAt(300, false)}, "no_media from 200"},
		"blindness":                              {[]option{unobservable(220, 700)}, "blind from 210, blind from 210 to 750"},
		"the encoder sends nothing":              {[]option{liveFrom(never), ownerSees(true, 100, 245), ownerSees(false, 245, never)}, "no_media from 100, no_media from 100 to 255"},
		"nobody tells of it any more":            {[]option{liveFrom(never), ownerSees(true, 100, 245)}, "no_media from 100, no_media from 100 to 820"},
		"nothing is sent, but media move":        {[]option{liveFrom(200), ownerSees(true, 100, 195)}, "no_media from 100, no_media from 100 to 220"},
		"who is blind is told of it":             {[]option{unobservable(220, 900), ownerSees(true, 600, 720), ownerSees(false, 720, never)}, "blind from 210, no_media from 610, no_media from 610 to 735, blind from 210 to 930, no_media from 930, no_media from 930 to 930"},
		"who is told of it is blind":             {[]option{unobservable(220, 900), ownerSees(true, 200, never)}, "no_media from 220, blind from 210, blind from 210 to 930, no_media from 220 to 930"},
		"an alerted outage, paused by blindness": {[]option{noPlaylist(150, 900), refused(300, 700)}, "no_media from 150, no_media from 150 to 210, blind from 210, blind from 210 to 750, no_media from 750, no_media from 750 to 945"},
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, c.set...).from(100).restarting(1200)
			var got []string
			for _, s := range w.signals {
				text := fmt.Sprint(s.Condition, " from ", math.Round(sec(s.StartedAt)))
				if !s.EndedAt.IsZero() {
					text += fmt.Sprint(" to ", math.Round(sec(s.EndedAt)))
				}
				got = append(got, text)
			}
			if text := strings.Join(got, ", "); text != c.signals {
				t.Errorf("signalled %q, want %q", text, c.signals)
			}
		})
	}
}
