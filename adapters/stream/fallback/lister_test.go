package fallback_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// fakeLister fails with a kind; empty: it lists a channel.
type fakeLister struct {
	kind     channel.FailureKind
	duration time.Duration
	asked    int
}

func (f *fakeLister) List(ctx context.Context, _ string) (channel.Listing, error) {
	f.asked++
	select {
	case <-time.After(f.duration):
	case <-ctx.Done():
		return channel.Listing{}, &channel.Failure{Kind: channel.Network, Detail: "stopped"}
	}
	if f.kind != "" {
		return channel.Listing{}, &channel.Failure{Kind: f.kind, Detail: "it is " + string(f.kind)}
	}
	return channel.Listing{ID: "UC"}, nil
}

// stateOf returns what a failure says to an egress address.
func stateOf(err error) watch.StreamState {
	failure, _ := errors.AsType[*channel.Failure](err)
	return channel.StateOf(failure)
}

// kindOf returns the kind of a failure; empty: there is none.
func kindOf(err error) channel.FailureKind {
	if failure, is := errors.AsType[*channel.Failure](err); is {
		return failure.Kind
	}
	return ""
}

func TestAWayThatFailsForManyChannelsIsNotAskedForAWhile(t *testing.T) {
	for kind, opens := range map[channel.FailureKind]channel.FailureKind{ // empty: it stays closed
		"": "", channel.NotFound: "", channel.NoStreams: "",
		channel.Refused: channel.Refused, channel.RateLimited: channel.RateLimited, channel.Network: channel.Network,
		channel.ToolFailed: channel.ToolFailed, channel.Unreadable: channel.ToolFailed,
	} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				way := &fakeLister{kind: kind}
				l := fallback.NewLister("browse", way, nil, slog.New(slog.NewTextHandler(&log, nil)))
				list := func(egress string, n int) (channel.Listing, error) {
					return l.List(request.WithEgress(t.Context(), egress), fmt.Sprintf("@channel%d", n))
				}
				for n := range fallback.MaxFailures {
					_, err := list("a", n)
					expect.Equal(t, "the failure", kindOf(err), kind)
				}
				_, err := list("a", 9)
				if opens == "" {
					expect.Equal(t, "asked", way.asked, fallback.MaxFailures+1)
					return
				}
				if stateOf(err) != watch.CircuitOpen || kindOf(err) != opens || !strings.Contains(err.Error(), "browse is not asked for a while") || !strings.Contains(err.Error(), "it is "+string(kind)) || way.asked != fallback.MaxFailures {
					t.Errorf("asked %d times, then got %v", way.asked, err)
				}
				expect.Text(t, "the log", log.String(), "A tool fails repeatedly", "tool=browse")
				if _, err := list("b", 9); kindOf(err) != kind || way.asked != fallback.MaxFailures+1 {
					t.Errorf("through another address: asked %d times, got %v", way.asked, err)
				}
				way.kind = ""
				time.Sleep(fallback.OpenTime + time.Second)
				if found, err := list("a", 9); err != nil || found.ID == "" {
					t.Errorf("after a while got %+v, %v", found, err)
				}
			})
		})
	}
}

func TestOneChannelThatFailsKeepsNobodyFromTheOthers(t *testing.T) {
	way := &fakeLister{kind: channel.Unreadable}
	l := fallback.NewLister("browse", way, nil, discardLog)
	for range 2 * fallback.MaxFailures {
		_, _ = l.List(t.Context(), "@one")
	}
	expect.Equal(t, "asked", way.asked, 2*fallback.MaxFailures)
}

func TestAListByAToolWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fallback.NewHost(1, discardLog)
		way := &fakeLister{duration: time.Minute}
		l := fallback.NewLister("yt-dlp", way, host, discardLog)
		go func() { _, _ = l.List(t.Context(), "@first") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := l.List(ctx, "@second"); kindOf(err) != channel.Network || stateOf(err) != watch.CircuitOpen || way.asked != 1 {
			t.Errorf("asked %d times, got %v", way.asked, err)
		}
		if _, err := l.List(t.Context(), "@second"); err != nil || way.asked != 2 {
			t.Errorf("asked %d times, got %v", way.asked, err)
		}
	})
}
