package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
)

// takes is how long each transaction takes in these tests.
const takes = 5 * time.Millisecond

func TestWhatMayWaitSharesATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(takes) }}
		var all sync.WaitGroup
		slowest := make([]time.Duration, 1000)
		for n := range slowest { // 100 a second
			all.Go(func() {
				began := time.Now()
				if err := q.Add(t.Context(), fmt.Sprint(n), 500*time.Millisecond); err != nil {
					t.Error(err)
				}
				slowest[n] = time.Since(began)
			})
			time.Sleep(10 * time.Millisecond)
		}
		all.Wait()
		q.Close()
		if n := len(q.Groups()); n < 15 || n > 25 { // 10 s, two groups a second
			t.Errorf("%d groups, want about 20", n)
		}
		for n, took := range slowest {
			if took > 500*time.Millisecond+2*takes {
				t.Errorf("number %d waited %s", n, took)
			}
		}
	})
}

func TestWhatMayNotWaitIsStoredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(takes) }}
		var all sync.WaitGroup
		add := func(name string, wait, limit time.Duration) {
			all.Go(func() {
				began := time.Now()
				if err := q.Add(t.Context(), name, wait); err != nil || time.Since(began) > limit {
					t.Errorf("%s: %v after %s", name, err, time.Since(began))
				}
			})
			synctest.Wait()
		}
		add("patient", time.Second, 110*time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		add("urgent", 0, takes) // it takes the patient one along
		add("late", time.Second, time.Second+takes)
		time.Sleep(10 * time.Millisecond)
		add("urgent again", 0, 2*takes)
		add("urgent", 0, 2*takes)
		all.Wait()
		q.Close()
		if got := fmt.Sprint(q.Groups()); got != "[[patient urgent] [late urgent again] [urgent]]" {
			t.Errorf("groups %s", got)
		}
	})
}

func TestAFullGroupDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(takes) }}
		began := time.Now()
		var all sync.WaitGroup
		for n := range 64 {
			all.Go(func() { _ = q.Add(t.Context(), fmt.Sprint(n), time.Minute) })
		}
		all.Wait()
		if took := time.Since(began); took != takes || len(q.Groups()) != 1 {
			t.Errorf("%d groups after %s", len(q.Groups()), took)
		}
	})
}

// Two items of one key are never stored at the same time. The second waits for the first
// without a run that asks over and over.
func TestItemsOfOneKeyFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(time.Second) }}
		began := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { _ = q.Add(t.Context(), "one", 0) })
			synctest.Wait()
		}
		all.Wait()
		if took := time.Since(began); took != 3*time.Second || len(q.Groups()) != 3 {
			t.Errorf("%d groups after %s", len(q.Groups()), took)
		}
	})
}

// The store of a gateway that stops is closed while calls may still come.
func TestNobodyWaitsInAQueueThatIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(takes) }}
		var all sync.WaitGroup
		add := func(name string, wait time.Duration) {
			all.Go(func() {
				if alone, err := q.AddOrAlone(context.Background(), name, wait); err != nil || !alone {
					t.Errorf("%s: alone %t, %v", name, alone, err)
				}
			})
			synctest.Wait()
		}
		add("it waits for others", time.Hour)
		q.Close()
		add("it is due", 0)
		add("it may wait", time.Hour)
		all.Wait()
		if got := q.Groups(); len(got) != 0 {
			t.Errorf("groups %v after the end", got)
		}
	})
}
