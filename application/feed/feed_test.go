package feed_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	"github.com/stream-monitor/stream-monitor/application/feed/feedtest"
	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// follower is a Feed over a fake store, in virtual time.
type follower struct {
	*feeds.Feed

	t     *testing.T
	store *feedtest.Store
	stop  func()
}

// inVirtualTime runs a test with a running Feed.
func inVirtualTime(t *testing.T, cfg feeds.Config, test func(f *follower)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := feedtest.NewStore(time.Now())
		hub, err := feeds.New(store, store.Wakes, cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); hub.Run(ctx) }()
		synctest.Wait()
		f := &follower{hub, t, store, func() { cancel(); <-done }}
		test(f)
		f.stop()
	})
}

func (f *follower) follow(from feed.Position) *feeds.Reader {
	f.t.Helper()
	r, err := f.Follow("", from)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// read returns what a reader gets until it would wait, in short form and without
// heartbeats.
func (f *follower) read(r *feeds.Reader) (got []string) {
	f.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(f.t.Context(), time.Millisecond)
		messages, err := r.Next(ctx)
		cancel()
		switch {
		case errors.Is(err, io.EOF):
			return append(got, "EOF")
		case errors.Is(err, context.DeadlineExceeded):
			return got
		case err != nil:
			f.t.Fatal(err)
		}
		for _, m := range messages {
			if m.Type != feed.HeartbeatType {
				got = append(got, short(m))
			}
		}
	}
}

func short(m feed.Message) string {
	switch m.Type {
	case feed.MonitorUpdated:
		return fmt.Sprint(m.Position.Version)
	case feed.StateReplace:
		return fmt.Sprint("state at ", m.Position.Version)
	case feed.ByeType:
		return string(m.Line[strings.Index(string(m.Line), `"data"`):])
	}
	return string(m.Type)
}

func (f *follower) expect(r *feeds.Reader, want ...string) {
	f.t.Helper()
	if got := f.read(r); !slices.Equal(got, want) {
		f.t.Errorf("the reader got %q, want %q", got, want)
	}
}

func at(version int64) feed.Position { return feed.Position{Epoch: feedtest.Epoch, Version: version} }

func TestAReaderGetsTheStateAndThenEveryChange(t *testing.T) {
	inVirtualTime(t, feeds.Config{}, func(f *follower) {
		f.store.Append(3)
		r := f.follow(feed.Position{})
		f.expect(r, "state at 3")
		f.store.Append(2)
		f.expect(r, "4", "5")
	})
}

func TestAReaderContinuesFromItsPosition(t *testing.T) {
	inVirtualTime(t, feeds.Config{MaxEntries: 4, PageSize: 3}, func(f *follower) {
		f.store.Append(9)
		synctest.Wait()
		f.expect(f.follow(at(7)), "8", "9")                               // from memory
		f.expect(f.follow(at(1)), "2", "3", "4", "5", "6", "7", "8", "9") // from the store, by pages
		f.expect(f.follow(at(9)))
	})
}

func TestAReaderThatCannotContinueGetsTheState(t *testing.T) {
	inVirtualTime(t, feeds.Config{MaxEntries: 2}, func(f *follower) {
		f.store.Append(9)
		synctest.Wait()
		f.store.Forget(4)
		for name, from := range map[string]feed.Position{
			"no position":        {},
			"an unknown epoch":   {Epoch: feedtest.Restored, Version: 9},
			"a version too old":  at(3),
			"a version too high": at(10),
		} {
			f.t.Log(name)
			f.expect(f.follow(from), "state at 9")
		}
		f.expect(f.follow(at(4)), "5", "6", "7", "8", "9")
	})
}

func TestAReaderAheadOfItsGatewayMissesNothing(t *testing.T) {
	inVirtualTime(t, feeds.Config{}, func(f *follower) {
		f.store.AppendUnnoticed(3)
		r := f.follow(at(2))
		f.expect(r, "3")
		f.store.Append(1)
		f.expect(r, "4")
	})
}

func TestAllReadersContinueWithTheStateAfterARestore(t *testing.T) {
	inVirtualTime(t, feeds.Config{}, func(f *follower) {
		f.store.Append(5)
		live, later := f.follow(at(5)), f.follow(at(5))
		f.expect(live)
		f.expect(later)
		f.store.Restore(2)
		f.store.Append(9)
		f.expect(live, "state at 11")
		f.store.Append(1)
		f.expect(live, "12")
		f.expect(later, "state at 11", "12") // shared with the other reader
	})
}

// A reader waits for a state of the new epoch, though one of the old epoch is shared.
func TestAStateOfAnOldEpochIsNotSharedAfterARestore(t *testing.T) {
	inVirtualTime(t, feeds.Config{MaxEntries: 1}, func(f *follower) {
		f.store.Append(5)
		synctest.Wait()
		f.expect(f.follow(feed.Position{}), "state at 5")
		f.store.Restore(2)
		f.expect(f.follow(at(3)), "state at 2") // no longer in memory: read from the store
		_, states := f.store.Queries()
		if states != 2 {
			f.t.Errorf("%d states were read, want 2", states)
		}
	})
}

func TestAnyNumberOfReadersCostsOneStateAndOneQueryPerChange(t *testing.T) {
	inVirtualTime(t, feeds.Config{Heartbeat: time.Hour, MaxPerKey: 500}, func(f *follower) {
		f.store.Append(1)
		synctest.Wait()
		readers := make([]*feeds.Reader, 500)
		for i := range readers {
			readers[i] = f.follow(feed.Position{})
			f.expect(readers[i], "state at 1")
		}
		before, _ := f.store.Queries()
		for version := int64(2); version <= 11; version++ {
			f.store.Append(1)
			synctest.Wait()
			for _, r := range readers {
				f.expect(r, fmt.Sprint(version))
			}
		}
		if after, states := f.store.Queries(); after-before != 10 || states != 1 {
			f.t.Errorf("10 changes and 500 readers cost %d queries and %d states, want 10 and 1", after-before, states)
		}
	})
}

func TestASlowReaderIsDroppedAndContinuesByItsPosition(t *testing.T) {
	inVirtualTime(t, feeds.Config{MaxEntries: 4}, func(f *follower) {
		r := f.follow(at(0))
		f.store.Append(2)
		f.expect(r, "1", "2")
		f.store.Append(5)
		synctest.Wait()
		f.expect(r, `"data":{"reason":"too_slow"}}`, "EOF")
		f.expect(f.follow(at(2)), "3", "4", "5", "6", "7")
	})
}

func TestTheMemoryOfTheFeedIsBoundedInBytes(t *testing.T) {
	inVirtualTime(t, feeds.Config{MaxBytes: 1}, func(f *follower) {
		f.store.Append(9)
		synctest.Wait()
		before, _ := f.store.Queries()
		f.expect(f.follow(at(8)), "9")
		f.expect(f.follow(at(7)), "8", "9")
		if after, _ := f.store.Queries(); after-before != 1 {
			f.t.Errorf("%d queries, want 1: the newest entry is in memory, the one before is not", after-before)
		}
	})
}

func TestReadersAreLimited(t *testing.T) {
	for name, c := range map[string]struct {
		cfg       feeds.Config
		third     error
		ofAnother error // of a reader with another key
	}{
		"at one gateway": {feeds.Config{MaxReaders: 2}, feeds.ErrTooManyReaders, feeds.ErrTooManyReaders},
		"with one key":   {feeds.Config{MaxPerKey: 2}, feeds.ErrTooManyReadersOfKey, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, c.cfg, func(f *follower) {
				first := f.follow(at(0))
				f.follow(at(0))
				for key, want := range map[string]error{"": c.third, "another": c.ofAnother} {
					if r, err := f.Follow(key, at(0)); !errors.Is(err, want) {
						f.t.Errorf("the third reader, with the key %q, got %v, want %v", key, err, want)
					} else if err == nil {
						r.Close()
					}
				}
				first.Close()
				f.follow(at(0))
			})
		})
	}
}

func TestEveryReaderGetsByeAtTheEnd(t *testing.T) {
	inVirtualTime(t, feeds.Config{}, func(f *follower) {
		r := f.follow(at(0))
		f.expect(r)
		f.stop()
		f.expect(r, `"data":{"reason":"shutdown"}}`, "EOF")
		if _, err := f.Follow("", at(0)); !errors.Is(err, feeds.ErrNotFollowing) {
			f.t.Errorf("a reader after the end got %v, want ErrNotFollowing", err)
		}
	})
}

func TestEveryReaderGetsAHeartbeatEveryFiveSeconds(t *testing.T) {
	addresses := func() []egress.Status { return []egress.Status{{Name: "direct", Source: "youtube", RestSec: 60}} }
	inVirtualTime(t, feeds.Config{Egress: addresses}, func(f *follower) {
		r := f.follow(at(0))
		next := func() string {
			f.t.Helper()
			messages, err := r.Next(f.t.Context())
			if err != nil || len(messages) != 1 || messages[0].Type != feed.HeartbeatType || messages[0].Position != (feed.Position{}) {
				f.t.Fatalf("the reader got %v, %v, want a heartbeat", messages, err)
			}
			return string(messages[0].Line)
		}
		if line := next(); !strings.Contains(line, `"watched":3`) || !strings.Contains(line, `"egress":[{"name":"direct","source":"youtube","rest_sec":60,`) {
			f.t.Errorf("the heartbeat is %s, want the state of workers and addresses", line)
		}
		began := time.Now()
		f.store.Failing.Store(true)
		if line := next(); !strings.Contains(line, `"checker":null`) {
			f.t.Errorf("without a database the heartbeat is %s, want no state", line)
		}
		next()
		if took := time.Since(began); took != 10*time.Second {
			f.t.Errorf("two heartbeats took %v, want 10s", took)
		}
	})
}

func TestReadersContinueAfterAnOutageOfTheDatabase(t *testing.T) {
	inVirtualTime(t, feeds.Config{}, func(f *follower) {
		f.store.Append(5)
		live := f.follow(at(5))
		f.expect(live)
		f.store.Failing.Store(true)
		f.store.Append(2)
		synctest.Wait()
		behind := f.follow(at(3))
		f.expect(live)
		f.store.Failing.Store(false)
		time.Sleep(time.Second) // the next try
		f.expect(live, "6", "7")
		f.expect(behind, "4", "5", "6", "7")
	})
}

func TestAChangeWhoseNotificationWasLostIsFoundAtTheNextHeartbeat(t *testing.T) {
	inVirtualTime(t, feeds.Config{}, func(f *follower) {
		r := f.follow(at(0))
		f.expect(r)
		f.store.AppendUnnoticed(1)
		f.expect(r)
		time.Sleep(5 * time.Second)
		f.expect(r, "1")
	})
}

func TestAllChangesThatWaitGetTheirVersions(t *testing.T) {
	inVirtualTime(t, feeds.Config{Heartbeat: time.Hour}, func(f *follower) {
		r := f.follow(at(0))
		f.store.Change(2*feedtest.MaxNumbered + 1)
		time.Sleep(100 * time.Millisecond)
		f.expect(r, "1", "2", "3", "4", "5")
	})
}

// The other one may have died: nothing wakes this gateway then.
func TestAGatewayGivesTheVersionsThatAnotherOneDoesNot(t *testing.T) {
	inVirtualTime(t, feeds.Config{Heartbeat: time.Hour}, func(f *follower) {
		r := f.follow(at(0))
		f.store.Busy.Store(true)
		f.store.Change(1)
		synctest.Wait()
		f.expect(r)
		f.store.Busy.Store(false)
		time.Sleep(100 * time.Millisecond)
		f.expect(r, "1")
	})
}
