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

var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// ledger is the books of a run in which all went well: one monitor, one
// blackout from 10 to 16 s.
func ledger() *books {
	b := &books{accepted: map[string]bool{}}
	a := account{
		id: "mon-a", interval: time.Second, live: at(0), registered: at(0), ended: at(30), status: "completed", history: 4,
		truth:   []episode{{"blackout", at(10), at(16)}},
		counted: map[string]float64{"blackout_events": 1},
	}
	for second := 2; second < 30; second += 2 {
		a.fetches = append(a.fetches, fetch{at(float64(second) + 2.1), at(float64(second)), at(float64(second) + 2)})
	}
	for i, e := range []struct{ kind, data string }{
		{"stream.started", `{}`},
		{"alert.blackout", `{"started_at":"2030-01-01T12:00:10Z"}`},
		{"alert.blackout_recovered", `{"started_at":"2030-01-01T12:00:10Z","recovered_at":"2030-01-01T12:00:16Z"}`},
		{"stream.ended", `{}`},
	} {
		id := fmt.Sprint("event-", i)
		body := fmt.Sprintf(`{"event_id":%q,"data":%s}`, id, e.data)
		a.stored = append(a.stored, record{id, e.kind, "sent", 1, body})
		b.accepted[id] = true
		b.deliveries = append(b.deliveries, webhookreceiver.Delivery{
			Received: at(float64(10 * i)), Attempt: 1, Header: http.Header{}, Body: []byte(body), EventID: id, EventType: e.kind,
			MonitorID: a.id, Verified: true, Accepted: true,
		})
	}
	b.accounts = []account{a}
	return b
}

func TestTheJudge(t *testing.T) {
	again := func(b *books, i int, seconds float64) {
		d := b.deliveries[i]
		d.Received, d.Attempt = at(seconds), 2
		b.deliveries = slices.Insert(b.deliveries, i+1, d)
	}
	stamp := func(b *books, i int, when time.Time) {
		b.deliveries[i].Header = http.Header{"X-Timestamp": {fmt.Sprint(when.Unix())}}
	}
	for name, c := range map[string]struct {
		change func(*books)
		says   string // empty: nothing
	}{
		"finds nothing where all went well": {change: func(*books) {}},
		"finds an accepted event that is not kept": {
			change: func(b *books) { b.accepted["event-9"] = true }, says: "lost: event event-9 was accepted",
		},
		"finds an event that counts as sent and never was": {
			change: func(b *books) { b.deliveries = slices.Delete(b.deliveries, 1, 2) }, says: "counts as sent and has never been accepted",
		},
		"finds an event that is still pending": {
			change: func(b *books) { b.accounts[0].stored[3].status = "pending" }, says: "is pending after 1 attempts",
		},
		"finds a delivery of what is not in the books": {
			change: func(b *books) { b.deliveries[2].EventID = "event-8" }, says: "was delivered and is not in the database",
		},
		"finds other bytes at a repetition": {
			change: func(b *books) {
				again(b, 1, 10.5)
				b.deliveries[2].Body = []byte("{}")
				b.injected = []injection{{name: "gateway killed", subject: gatewaySubject, from: at(10), to: at(10.1)}}
			}, says: "has other bytes",
		},
		"finds a repetition without a fault": {
			change: func(b *books) { again(b, 1, 12) }, says: "told twice",
		},
		"lets a fault explain a repetition": {
			change: func(b *books) {
				again(b, 1, 12)
				b.injected = []injection{{name: "PostgreSQL killed", subject: databaseSubject, from: at(10.1), to: at(10.1)}}
			},
		},
		"lets no fault of something else explain it": {
			change: func(b *books) {
				again(b, 1, 12)
				b.injected = []injection{{name: "worker killed", subject: workerSubject, from: at(10.1), to: at(10.1)}}
			}, says: "told twice",
		},
		"lets no fault explain it that was long over": {
			change: func(b *books) {
				again(b, 1, 18)
				b.injected = []injection{{name: "gateway killed", subject: gatewaySubject, from: at(5), to: at(5)}}
			}, says: "told twice",
		},
		"lets a webhook bear the time of a clock that is off": {
			change: func(b *books) {
				b.clocks = []setting{{at(9), -time.Hour}, {at(13), 0}}
				stamp(b, 1, at(10).Add(-time.Hour))
				stamp(b, 2, at(19.4))
			},
		},
		"finds a webhook that bears the true time while the clock is off": {
			change: func(b *books) {
				b.clocks = []setting{{at(5), time.Hour}, {at(13), 0}}
				stamp(b, 1, at(10))
			}, says: "which the gateway's clock did not show then",
		},
		"finds a webhook that bears the time of a clock that was right again": {
			change: func(b *books) {
				b.clocks = []setting{{at(5), time.Hour}, {at(13), 0}}
				stamp(b, 2, at(20).Add(time.Hour))
			}, says: "which the gateway's clock did not show then",
		},
		"finds what comes out of order": {
			change: func(b *books) { b.deliveries[1], b.deliveries[2] = b.deliveries[2], b.deliveries[1] }, says: "which comes first",
		},
		"finds an episode that was watched and not told": {
			change: func(b *books) {
				b.accounts[0].truth = append(b.accounts[0].truth, episode{"silence", at(18), at(25)})
			}, says: "lost: the silence",
		},
		"excuses an episode that nobody could see": {
			change: func(b *books) {
				a := &b.accounts[0]
				a.truth = append(a.truth, episode{"silence", at(18), at(25)})
				a.fetches = slices.DeleteFunc(a.fetches, func(f fetch) bool { return f.to.After(at(18)) && f.from.Before(at(25)) })
				b.injected = []injection{{name: "gateway stopped", subject: gatewaySubject, from: at(17), to: at(24)}}
			},
		},
		"excuses what was seen by a worker that died before it could tell": {
			change: func(b *books) {
				a := &b.accounts[0]
				a.truth = append(a.truth, episode{"silence", at(18), at(22.5)})
				a.fetches = slices.DeleteFunc(a.fetches, func(f fetch) bool { return f.from.After(at(18.5)) && f.from.Before(at(22)) })
				b.deaths = []death{{"mon-a", 1, at(20.5)}}
				b.injected = []injection{{name: "worker killed", subject: workerSubject, monitor: "mon-a", from: at(20.4), to: at(20.4)}}
			},
		},
		"takes the first that is seen for the onset when the watch begins within an episode": {
			change: func(b *books) {
				a := &b.accounts[0]
				a.truth[0].from, a.registered = at(7), at(8)
				a.fetches = slices.DeleteFunc(a.fetches, func(f fetch) bool { return f.from.Before(at(10)) })
			},
		},
		"finds an episode that never was": {
			change: func(b *books) { b.accounts[0].truth = nil }, says: "was told, and there was none",
		},
		"finds a wrong onset": {
			change: func(b *books) { b.accounts[0].truth[0].from = at(9) }, says: "the nearest was from",
		},
		"finds a wrong end": {
			change: func(b *books) { b.accounts[0].truth[0].to = at(17) }, says: "was told to end at",
		},
		"finds an episode that is told twice": {
			change: func(b *books) {
				a := &b.accounts[0]
				a.stored = slices.Insert(a.stored, 3, a.stored[1], a.stored[2])
				a.history, a.counted["blackout_events"] = 6, 2
			}, says: "was told twice",
		},
		"finds an alert without a recovery": {
			change: func(b *books) {
				a := &b.accounts[0]
				a.stored = slices.Delete(a.stored, 2, 3)
			}, says: "no recovery",
		},
		"finds a second start": {
			change: func(b *books) {
				a := &b.accounts[0]
				a.stored = slices.Insert(a.stored, 1, a.stored[0])
			}, says: "stream.started was told 2 times",
		},
		"finds a monitor that did not end": {
			change: func(b *books) { b.accounts[0].status = "error" }, says: "it is error at the end",
		},
		"finds an error that was told": {
			change: func(b *books) {
				a := &b.accounts[0]
				a.stored[2].kind = "monitor.error"
			}, says: "it was told of an error",
		},
		"finds statistics that differ from what was told": {
			change: func(b *books) { b.accounts[0].counted["blackout_events"] = 2 }, says: "blackout_events 2, and 1 were told",
		},
		"finds that nobody watched a new monitor": {
			change: func(b *books) {
				a := &b.accounts[0]
				a.fetches = slices.DeleteFunc(a.fetches, func(f fetch) bool { return f.from.Before(at(6)) })
			}, says: "nobody watched from 12:00:00.000",
		},
		"finds that nobody watched a new monitor for longer than a gateway's death explains": {
			change: func(b *books) {
				b.accounts[0].registered = at(-20)
				b.injected = []injection{{name: "gateway killed", subject: gatewaySubject, from: at(-19), to: at(-18.5)}}
			}, says: "nobody watched from 11:59:40.000",
		},
		"lets a gateway's death explain that nobody watched a new monitor for a while": {
			change: func(b *books) {
				b.accounts[0].registered = at(-15)
				b.injected = []injection{{name: "gateway killed", subject: gatewaySubject, from: at(-14), to: at(-13.5)}}
			},
		},
		"finds that nobody watched": {
			change: func(b *books) {
				a := &b.accounts[0]
				a.fetches = slices.DeleteFunc(a.fetches, func(f fetch) bool { return f.from.After(at(17)) && f.from.Before(at(26)) })
			}, says: "nobody watched",
		},
		"finds that a worker came back late": {
			change: func(b *books) {
				a := &b.accounts[0]
				a.fetches = slices.DeleteFunc(a.fetches, func(f fetch) bool { return f.from.After(at(3)) })
				a.fetches = append(a.fetches, fetch{at(25), at(12), at(14)})
				b.injected = []injection{{name: "worker killed", subject: workerSubject, monitor: "mon-a", from: at(5), to: at(5)}}
			}, says: "the last fault near it was over at",
		},
		"finds a history that is not what is kept": {
			change: func(b *books) { b.accounts[0].history = 3 }, says: "its history lists 3 events",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := ledger()
			c.change(b)
			findings, _ := b.judge()
			if c.says == "" && len(findings) > 0 {
				t.Errorf("it finds %q", findings)
			}
			if c.says != "" && !strings.Contains(strings.Join(findings, "\n"), c.says) {
				t.Errorf("it finds %q, not %q", findings, c.says)
			}
		})
	}
}
