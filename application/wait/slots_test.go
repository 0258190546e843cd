package wait

import (
	"context"
	"errors"
	"testing"
)

var errBusy = errors.New("busy")

func TestAFreeSlotIsTakenAlthoughTheWaitIsOver(t *testing.T) {
	late, cancel := context.WithCancelCause(t.Context())
	cancel(errBusy)
	s := make(Slots, 1)
	for range 100 {
		release, err := s.Take(late)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Take(late); !errors.Is(err, errBusy) {
			t.Fatalf("a second one: %v", err)
		}
		release()
	}
}
