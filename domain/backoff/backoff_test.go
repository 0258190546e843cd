package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/backoff"
)

func TestTheDelayDoublesUpToTheMaximum(t *testing.T) {
	p := backoff.Policy{First: 2 * time.Second, Max: 30 * time.Second}
	for n, want := range map[int]time.Duration{
		0: 2 * time.Second, 1: 2 * time.Second, 2: 4 * time.Second, 3: 8 * time.Second, 4: 16 * time.Second,
		5: 30 * time.Second, 6: 30 * time.Second, math.MaxInt: 30 * time.Second,
	} {
		if got := p.Delay(n); got != want {
			t.Errorf("after failure %d the delay is %v, want %v", n, got, want)
		}
	}
	if got := (backoff.Policy{}).Delay(3); got != 0 {
		t.Errorf("the zero value delays by %v", got)
	}
}
