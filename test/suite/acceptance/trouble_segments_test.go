package acceptance_test

import (
	"hash/fnv"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

var sequence = regexp.MustCompile(`/sq/(\d+)/`)

// half is a fault of about half the segments: of those whose number is chosen.
// A segment that fails does so however often it is asked for.
func half(chosen func(number string) bool, f httpfault.Fault) httpfault.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if m := sequence.FindStringSubmatch(r.URL.Path); m != nil && chosen(m[1]) {
			f(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// alternating chooses every second one.
func alternating(number string) bool { return (number[len(number)-1]-'0')%2 == 1 }

// scattered chooses as if by chance.
func scattered(number string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(number))
	return h.Sum32()>>7&1 == 1
}

func TestTroubleWithHalfTheSegments(t *testing.T) { // 6.6: a minute without any
	t.Parallel()
	cases := []struct {
		name    string
		fault   httpfault.Fault
		show    *show
		longest func() time.Duration // between two checks
		before  float64
		asked   int
	}{
		{name: "every second one answers 404", fault: half(alternating, httpfault.Status(404))},
		{name: "half of them answer 500", fault: half(scattered, httpfault.Status(500))},
		{name: "every second one is cut off", fault: half(alternating, httpfault.Truncate())},
		{name: "half of them are not even media", fault: half(scattered, httpfault.Zeros(100_000))},
	}
	for i := range cases {
		cases[i].show = onAir(t, common, livestream.Config{}, nil)
	}
	began := time.Now()
	for i := range cases {
		c := &cases[i]
		c.before, c.asked, c.longest = checks(t, common, c.show.id), c.show.asked(), c.show.gaps()
		c.show.Fail(livestream.Segments, c.fault)
	}
	pause(t.Context(), 10*time.Second)
	for _, c := range cases {
		c.show.darken()
	}
	for _, c := range cases {
		// The segment in which it changes may be one that fails, and the one before
		// it too.
		c.show.in(t, c.name, func(*testing.T) { c.show.blackout(3 * c.show.SegmentDuration()) })
	}
	for _, c := range cases {
		p := c.show
		p.in(t, c.name+", for a minute", func(t *testing.T) {
			p.lasts(began, outage+5*time.Second)
			gap := c.longest()
			t.Logf("%v checks, no longer than %s apart; %d runs of yt-dlp", checks(t, common, p.id)-c.before, gap, p.asked()-c.asked)
			if gap > renewal {
				t.Errorf("there was no check for %s, though every other segment could be had", gap)
			}
			if v := p.health(); v != "ok" {
				t.Errorf("the picture is said to be %v", v)
			}
			p.Heal(livestream.Segments)
			p.checked(45 * time.Second)
			p.ends(blackout, recovered)
		})
	}
}
