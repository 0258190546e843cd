package notify_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestTenIncidentsOrAFifthOfTheStreamsAreAStorm(t *testing.T) {
	for _, c := range []struct {
		opened, streams, live int
		want                  bool
	}{
		{9, 9, 1000, false}, {10, 10, 1000, true}, {10, 1, 1000, true},
		{2, 2, 2, false}, {3, 3, 15, true}, {3, 3, 16, false}, {9, 2, 2, false}, {3, 3, 0, false},
	} {
		if got := notify.IsStorm(c.opened, c.streams, c.live); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
