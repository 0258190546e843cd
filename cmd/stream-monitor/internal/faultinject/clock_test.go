//go:build faults

package faultinject

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestASteppedClockMovesTheWallClockOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clock")
	t.Setenv(clockVariable, file)
	now := Wrap(Ports{Now: time.Now}).Now
	for text, want := range map[string]time.Duration{"": 0, "1h": time.Hour, "-1h": -time.Hour, "nonsense": 0} {
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		got := now()
		if d := got.Round(0).Sub(before.Round(0)) - want; d.Abs() > time.Second {
			t.Errorf("%q: the wall clock is off by %v more", text, d)
		}
		if d := got.Sub(before); d < 0 || d > time.Second {
			t.Errorf("%q: the monotonic clock has gone %v", text, d)
		}
	}
}
