package record

import (
	"context"
	"errors"
	"testing"
)

func TestAFreeSlotIsTakenAlthoughTheWaitIsOver(t *testing.T) {
	late, cancel := context.WithCancelCause(t.Context())
	cancel(ErrBusy)
	s := make(slots, 1)
	for range 100 {
		release, err := s.take(late)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.take(late); !errors.Is(err, ErrBusy) {
			t.Fatalf("a second one: %v", err)
		}
		release()
	}
}
