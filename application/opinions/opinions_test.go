package opinions_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/opinions"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// fake is a store with questions, of which the first tries to store an answer fail, and an endpoint that takes 4 s.
type fake struct {
	mu       sync.Mutex
	waiting  []string
	failures int
	asking   int
	most     int // questions under way at a time
	pictures int // of all questions
	missing  int // looks that find none
	stored   []string
}

func (f *fake) ClaimQuestions(_ context.Context, coolDown time.Duration, limit int) (all []opinions.Question, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if coolDown != time.Hour {
		return nil, errors.New("another cool-down")
	}
	for len(all) < limit && len(f.waiting) > 0 {
		all, f.waiting = append(all, opinions.Question{EventID: f.waiting[0]}), f.waiting[1:]
	}
	return all, nil
}

func (f *fake) AlertPictures(context.Context, monitor.ID, string) ([]evidence.Picture, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.missing > 0 {
		f.missing--
		return nil, nil
	}
	return []evidence.Picture{{Bytes: []byte("x")}}, errors.New("the second cannot be read")
}

func (f *fake) Ask(_ context.Context, q opinions.Question) incident.Opinion {
	f.mu.Lock()
	f.asking++
	f.most, f.pictures = max(f.most, f.asking), f.pictures+len(q.Pictures)
	f.mu.Unlock()
	time.Sleep(4 * time.Second)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asking--
	return incident.Opinion{Verdict: incident.OpinionDrop}
}

func (f *fake) StoreOpinion(_ context.Context, _ monitor.ID, eventID string, o incident.Opinion) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failures > 0 {
		f.failures--
		return errors.New("away")
	}
	f.stored = append(f.stored, eventID+" "+string(o.Verdict))
	return nil
}

func TestAnswersAreStoredAlsoWhenTheGatewayStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{waiting: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, failures: 2}
		asker := opinions.NewAsker(f, f, f, time.Hour, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); asker.Run(ctx) }()
		time.Sleep(time.Second)
		stop() // while eight are asked
		<-done
		slices.Sort(f.stored)
		if want := []string{"a drop", "b drop", "c drop", "d drop", "e drop", "f drop", "g drop", "h drop"}; !slices.Equal(f.stored, want) || !slices.Equal(f.waiting, []string{"i"}) {
			t.Errorf("stored %q, left %q", f.stored, f.waiting)
		}
		if f.most != 8 || f.pictures != 8 {
			t.Errorf("at most %d at a time, with %d pictures", f.most, f.pictures)
		}
	})
}

func TestPicturesAreWaitedForTwoSecondsAtMost(t *testing.T) {
	for missing, want := range map[int]int{3: 1, 5: 0} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{waiting: []string{"a"}, missing: missing}
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			began := time.Now()
			opinions.NewAsker(f, f, f, time.Hour, slog.New(slog.DiscardHandler)).Run(ctx)
			if took := time.Since(began); f.pictures != want || took > 500*time.Millisecond+2*time.Second+4*time.Second {
				t.Errorf("with %d looks that find none: %d pictures after %s, want %d", missing, f.pictures, took, want)
			}
		})
	}
}
