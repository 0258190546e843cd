//go:build linux

package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

var runStart = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return runStart.Add(time.Duration(seconds * float64(time.Second)))
}

// ledger is the books of a run in which all went well: one monitor, one
// blackout from 10 to 16 s.
func faultlessRun() *audit {
	a := &audit{acceptedEvents: map[string]bool{}}
	m := monitorRecord{
		id: "mon-a", interval: time.Second, liveAt: at(0), registeredAt: at(0), endedAt: at(30), status: "completed", historyTotal: 4,
		expected:   []episode{{"blackout", at(10), at(16)}},
		statistics: map[string]float64{"blackout_events": 1},
	}
	for second := 2; second < 30; second += 2 {
		m.requests = append(m.requests, segmentRequest{at(float64(second) + 2.1), at(float64(second)), at(float64(second) + 2)})
	}
	for i, e := range []struct{ kind, data string }{
		{"stream.started", `{}`},
		{"alert.blackout", `{"started_at":"2030-01-01T12:00:10Z"}`},
		{"alert.blackout_recovered", `{"started_at":"2030-01-01T12:00:10Z","recovered_at":"2030-01-01T12:00:16Z"}`},
		{"stream.ended", `{}`},
	} {
		id := fmt.Sprint("event-", i)
		body := fmt.Sprintf(`{"event_id":%q,"data":%s}`, id, e.data)
		m.events = append(m.events, storedEvent{id, e.kind, "sent", 1, body})
		a.acceptedEvents[id] = true
		a.deliveries = append(a.deliveries, webhookreceiver.Delivery{
			Received: at(float64(10 * i)), Attempt: 1, Header: http.Header{}, Body: []byte(body), EventID: id, EventType: e.kind,
			MonitorID: m.id, Verified: true, Accepted: true,
		})
	}
	a.monitors = []monitorRecord{m}
	return a
}

func TestTheJudge(t *testing.T) {
	again := func(a *audit, i int, seconds float64) {
		d := a.deliveries[i]
		d.Received, d.Attempt = at(seconds), 2
		a.deliveries = slices.Insert(a.deliveries, i+1, d)
	}
	stamp := func(a *audit, i int, when time.Time) {
		a.deliveries[i].Header = http.Header{"X-Timestamp": {fmt.Sprint(when.Unix())}}
	}
	for name, c := range map[string]struct {
		change func(*audit)
		says   string // empty: nothing
	}{
		"finds nothing where all went well": {change: func(*audit) {}},
		"finds an accepted event that is not kept": {
			change: func(a *audit) { a.acceptedEvents["event-9"] = true }, says: "lost: event event-9 was accepted",
		},
		"finds an event that counts as sent and never was": {
			change: func(a *audit) { a.deliveries = slices.Delete(a.deliveries, 1, 2) }, says: "counts as sent and has never been accepted",
		},
		"finds an event that is still pending": {
			change: func(a *audit) { a.monitors[0].events[3].status = "pending" }, says: "is pending after 1 attempts",
		},
		"finds a delivery of what is not in the books": {
			change: func(a *audit) { a.deliveries[2].EventID = "event-8" }, says: "was delivered and is not in the database",
		},
		"finds other bytes at a repetition": {
			change: func(a *audit) {
				again(a, 1, 10.5)
				a.deliveries[2].Body = []byte("{}")
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(10), to: at(10.1)}}
			}, says: "has other bytes",
		},
		"finds a repetition without a fault": {
			change: func(a *audit) { again(a, 1, 12) }, says: "told twice",
		},
		"lets a fault explain a repetition": {
			change: func(a *audit) {
				again(a, 1, 12)
				a.injected = []injection{{name: "PostgreSQL killed", component: databaseComponent, from: at(10.1), to: at(10.1)}}
			},
		},
		"lets no fault of something else explain it": {
			change: func(a *audit) {
				again(a, 1, 12)
				a.injected = []injection{{name: "worker killed", component: workerComponent, from: at(10.1), to: at(10.1)}}
			}, says: "told twice",
		},
		"lets no fault explain it that was long over": {
			change: func(a *audit) {
				again(a, 1, 18)
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(5), to: at(5)}}
			}, says: "told twice",
		},
		"lets a webhook bear the time of a clock that is off": {
			change: func(a *audit) {
				a.clockSettings = []clockSetting{{at(9), -time.Hour}, {at(13), 0}}
				stamp(a, 1, at(10).Add(-time.Hour))
				stamp(a, 2, at(19.4))
			},
		},
		"finds a webhook that bears the true time while the clock is off": {
			change: func(a *audit) {
				a.clockSettings = []clockSetting{{at(5), time.Hour}, {at(13), 0}}
				stamp(a, 1, at(10))
			}, says: "which the gateway's clock did not show then",
		},
		"finds a webhook that bears the time of a clock that was right again": {
			change: func(a *audit) {
				a.clockSettings = []clockSetting{{at(5), time.Hour}, {at(13), 0}}
				stamp(a, 2, at(20).Add(time.Hour))
			}, says: "which the gateway's clock did not show then",
		},
		"finds what comes out of order": {
			change: func(a *audit) { a.deliveries[1], a.deliveries[2] = a.deliveries[2], a.deliveries[1] }, says: "which comes first",
		},
		"finds an episode that was watched and not told": {
			change: func(a *audit) {
				a.monitors[0].expected = append(a.monitors[0].expected, episode{"silence", at(18), at(25)})
			}, says: "lost: the silence",
		},
		"excuses an episode that nobody could see": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.expected = append(m.expected, episode{"silence", at(18), at(25)})
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.to.After(at(18)) && request.from.Before(at(25)) })
				a.injected = []injection{{name: "gateway stopped", component: gatewayComponent, from: at(17), to: at(24)}}
			},
		},
		"excuses what was seen by a worker that died before it could tell": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.expected = append(m.expected, episode{"silence", at(18), at(22.5)})
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.After(at(18.5)) && request.from.Before(at(22)) })
				a.workerExits = []workerExit{{"mon-a", 1, at(20.5)}}
				a.injected = []injection{{name: "worker killed", component: workerComponent, monitor: "mon-a", from: at(20.4), to: at(20.4)}}
			},
		},
		"takes the first that is seen for the onset when the watch begins within an episode": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.expected[0].from, m.registeredAt = at(7), at(8)
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.Before(at(10)) })
			},
		},
		"finds an episode that never was": {
			change: func(a *audit) { a.monitors[0].expected = nil }, says: "was told, and there was none",
		},
		"finds a wrong onset": {
			change: func(a *audit) { a.monitors[0].expected[0].from = at(9) }, says: "the nearest was from",
		},
		"finds a wrong end": {
			change: func(a *audit) { a.monitors[0].expected[0].to = at(17) }, says: "was told to end at",
		},
		"finds an episode that is told twice": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.events = slices.Insert(m.events, 3, m.events[1], m.events[2])
				m.historyTotal, m.statistics["blackout_events"] = 6, 2
			}, says: "was told twice",
		},
		"finds an alert without a recovery": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.events = slices.Delete(m.events, 2, 3)
			}, says: "no recovery",
		},
		"finds a second start": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.events = slices.Insert(m.events, 1, m.events[0])
			}, says: "stream.started was told 2 times",
		},
		"finds a monitor that did not end": {
			change: func(a *audit) { a.monitors[0].status = "error" }, says: "it is error at the end",
		},
		"finds an error that was told": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.events[2].eventType = "monitor.error"
			}, says: "it was told of an error",
		},
		"finds statistics that differ from what was told": {
			change: func(a *audit) { a.monitors[0].statistics["blackout_events"] = 2 }, says: "blackout_events 2, and 1 were told",
		},
		"finds that nobody watched a new monitor": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.Before(at(6)) })
			}, says: "nobody watched from 12:00:00.000",
		},
		"finds that nobody watched a new monitor for longer than a gateway's death explains": {
			change: func(a *audit) {
				a.monitors[0].registeredAt = at(-20)
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(-19), to: at(-18.5)}}
			}, says: "nobody watched from 11:59:40.000",
		},
		"lets a gateway's death explain that nobody watched a new monitor for a while": {
			change: func(a *audit) {
				a.monitors[0].registeredAt = at(-15)
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(-14), to: at(-13.5)}}
			},
		},
		"finds that nobody watched": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.After(at(17)) && request.from.Before(at(26)) })
			}, says: "nobody watched",
		},
		"finds that a worker came back late": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.After(at(3)) })
				m.requests = append(m.requests, segmentRequest{at(25), at(12), at(14)})
				a.injected = []injection{{name: "worker killed", component: workerComponent, monitor: "mon-a", from: at(5), to: at(5)}}
			}, says: "the last fault near it was over at",
		},
		"finds a history that is not what is kept": {
			change: func(a *audit) { a.monitors[0].historyTotal = 3 }, says: "its history lists 3 events",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := faultlessRun()
			c.change(a)
			findings, _ := a.check()
			if c.says == "" && len(findings) > 0 {
				t.Errorf("it finds %q", findings)
			}
			if c.says != "" && !strings.Contains(strings.Join(findings, "\n"), c.says) {
				t.Errorf("it finds %q, not %q", findings, c.says)
			}
		})
	}
}
