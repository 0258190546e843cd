package exitqueue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/exitqueue"
)

func TestNoExitIsLostWhileNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := exitqueue.New[int]()
		for n := range 1000 {
			q.Add(n)
			if n%100 == 0 {
				synctest.Wait() // the delivering goroutine has taken one
			}
		}
		for n := range 1000 {
			if got := <-q.Out(); got != n {
				t.Fatalf("got %d as number %d", got, n)
			}
		}
		synctest.Wait()
		q.Add(1000)
		if got := <-q.Out(); got != 1000 {
			t.Errorf("got %d after a pause", got)
		}
		q.Close()
		q.Close()
		if _, open := <-q.Out(); open {
			t.Error("open after Close")
		}
		q.Add(1001) // must not panic
	})
}

func TestCloseDeliversTheRestUntilItsTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		queued, reads, got int
		took               time.Duration
	}{
		"a reader gets the rest":                               {3, 3, 3, 0},
		"a reader that leaves is waited for until the timeout": {3, 1, 1, exitqueue.DrainTimeout},
		"a missing reader is waited for until the timeout":     {3, 0, 0, exitqueue.DrainTimeout},
		"an empty queue is closed at once":                     {0, 3, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := exitqueue.New[int]()
				for n := range c.queued {
					q.Add(n)
				}
				synctest.Wait()
				got := 0
				go func() {
					for range c.reads {
						if _, open := <-q.Out(); open {
							got++
						}
					}
				}()
				began := time.Now()
				q.Close()
				if took := time.Since(began); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
				if synctest.Wait(); got != c.got {
					t.Errorf("%d were read, want %d", got, c.got)
				}
			})
		})
	}
}
