package worker_test

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// change stores a changed configuration, as the gateway does.
func (g *fakeGateway) change(change func(*monitor.Config)) {
	g.set(func(g *fakeGateway) {
		change(&g.config)
		g.revision++
	})
}

func (g *fakeGateway) alerts() (all []event.Alert) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.accepted {
		if a, is := e.Data.(event.Alert); is {
			all = append(all, a)
		}
	}
	return all
}

// settingSpy notes the silence threshold of each analysis.
type settingSpy struct {
	worker.Analyser

	silence atomic.Value // float64
}

func (s *settingSpy) Analyse(ctx context.Context, segment watch.Segment, calm watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	s.silence.Store(setting("silence_db_threshold"))
	return s.Analyser.Analyse(ctx, segment, calm, body, setting)
}

func TestAChangedConfigurationIsAdoptedWithoutAGap(t *testing.T) { // 16.6
	var recording bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		g.config.SetThresholdSec(detector.Blackout, 300)
		g.set(func(g *fakeGateway) { g.revision = 3 })
		spy := &settingSpy{Analyser: s}
		all := ports(s, g)
		all.Analyser = spy
		wait := startWorkerUntil(t.Context(), context.Background(), all, func(c *worker.Config) { c.Recording = &recording })
		time.Sleep(10 * time.Second)
		black := time.Now()
		s.set(func(s *fakeStream) { s.black = true })
		time.Sleep(40 * time.Second)
		g.change(func(c *monitor.Config) {
			c.SetThresholdSec(detector.Blackout, 20)
			c.Set("silence_db_threshold", -42)
		})
		time.Sleep(13 * time.Second) // one heartbeat, and one check
		alerts := g.alerts()
		if len(alerts) != 1 || alerts[0].ThresholdSec != 20 || alerts[0].StartedAt.Sub(black).Abs() > 4*time.Second {
			t.Errorf("the alerts are %+v; it was black from %v", alerts, black)
		}
		if got := spy.silence.Load(); got != -42.0 {
			t.Errorf("the analyser has silence_db_threshold %v", got)
		}
		endStream(t, s, wait)
		if got, want := g.eventTypes(), "stream.started alert.blackout stream.ended"; got != want {
			t.Errorf("events %s, want %s", got, want)
		}
	})
	if err := worker.Replay(&recording, func(watch.RecordedStep) {}); err != nil {
		t.Error(err)
	}
}

func TestNoReportWaitsForAChangedConfiguration(t *testing.T) { // 16.6
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		wait := startWorker(t.Context(), t, s, g)
		time.Sleep(10 * time.Second)
		g.change(func(c *monitor.Config) { c.SetThresholdSec(detector.Blackout, 60) })
		g.set(func(g *fakeGateway) { g.assignmentErr = errGatewayDown })
		time.Sleep(15 * time.Second)
		s.set(func(s *fakeStream) { s.black = true })
		time.Sleep(10 * time.Second)
		if alerts := g.alerts(); len(alerts) != 1 || alerts[0].ThresholdSec != 6 {
			t.Errorf("the alerts by the old configuration are %+v", alerts)
		}
		s.set(func(s *fakeStream) { s.black = false })
		g.set(func(g *fakeGateway) { g.assignmentErr = nil })
		time.Sleep(5 * time.Second)
		s.set(func(s *fakeStream) { s.black = true })
		time.Sleep(50 * time.Second)
		if alerts := g.alerts(); len(alerts) != 1 {
			t.Errorf("the alerts by the new configuration are %+v", alerts)
		}
		endStream(t, s, wait)
	})
}
