package postgres_test

import (
	"context"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestSuccession(t *testing.T) {
	dsn := database(t)
	dead, other, next := open(t, dsn), open(t, dsn), open(t, dsn)
	for s, place := range map[interface {
		TakeOverLeases(context.Context, string) error
	}]string{dead: "here", other: "there"} {
		if err := s.TakeOverLeases(t.Context(), place); err != nil {
			t.Fatal(err)
		}
	}
	first, second := registered(t, dead, 1), registered(t, dead, 2)
	accepted(t, dead, first.ID, report(blackout(40)), monitor.Run)
	mine := leasedOne(t, dead)
	accepted(t, dead, second.ID, report(blackout(41)), monitor.Run)
	theirs := leasedOne(t, other)

	if got := leased(t, next); len(got) != 0 {
		t.Fatalf("leased %v before the succession", got)
	}
	for range 2 {
		if err := next.TakeOverLeases(t.Context(), "here"); err != nil {
			t.Fatal(err)
		}
	}
	if again := leasedOne(t, next); again.EventID != mine.EventID || again.Lease == mine.Lease {
		t.Errorf("leased %+v, want %s anew; %s is another place's", again, mine.EventID, theirs.EventID)
	}
}
