//go:build linux

package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

var runStart = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return runStart.Add(time.Duration(seconds * float64(time.Second)))
}

// faultlessRun is the audit of a run without faults: one monitor and one blackout
// from 10 to 16 s.
func faultlessRun() *audit {
	a := &audit{acceptedEvents: map[string]bool{}, destinations: destinationRecords{
		webhooks: map[string]webhookRecord{}, incidents: []incidentRecord{{id: "incident-a", state: "resolved"}},
		messages: map[channelKind][]channel.Message{
			telegramChannel: {aMessage("1", 13, "🟠 HIGH｜Black video 3 s｜a")},
			teamsChannel:    {aMessage("1", 13, "🟠 HIGH｜Black video 3 s｜a"), aMessage("2", 30, "✅ RESOLVED｜Black video, 17 s｜a")},
		},
	}}
	a.destinations.messages[telegramChannel][0].Text = "✅ RESOLVED｜Black video, 17 s｜a"
	for kind := range a.destinations.messages {
		a.destinations.threads = append(a.destinations.threads, thread{about: "incident-a", destination: string(kind), state: "delivered", opened: true, ref: "chat/1/false"})
	}
	m := monitorRecord{
		id: "mon-a", interval: time.Second, liveAt: at(0), registeredAt: at(0), endedAt: at(30), status: "completed", historyTotal: 4,
		expected:   []episode{{"blackout", at(10), at(16)}},
		statistics: map[string]float64{"blackout_events": 1},
	}
	for second := 2; second < 30; second += 2 {
		m.requests = append(m.requests, segmentRequest{at(float64(second) + 2.1), at(float64(second)), at(float64(second) + 2)})
	}
	for i, e := range []struct{ eventType, data, incident string }{
		{"stream.started", `{}`, ""},
		{"alert.blackout", `{"started_at":"2030-01-01T12:00:10Z"}`, "incident-a"},
		{"alert.blackout_recovered", `{"started_at":"2030-01-01T12:00:10Z","recovered_at":"2030-01-01T12:00:16Z"}`, "incident-a"},
		{"stream.ended", `{}`, ""},
	} {
		id := fmt.Sprint("event-", i)
		body := fmt.Sprintf(`{"event_id":%q,"data":%s}`, id, e.data)
		m.events = append(m.events, storedEvent{id, e.eventType, "sent", 1, body, e.incident})
		a.acceptedEvents[id] = true
		a.deliveries = append(a.deliveries, webhookreceiver.Delivery{
			Received: at(float64(10 * i)), Attempt: 1, Header: http.Header{}, Body: []byte(body), EventID: id, EventType: e.eventType,
			MonitorID: m.id, Verified: true, Accepted: true,
		})
		d := a.deliveries[i]
		d.Body = fmt.Appendf(nil, `%s,"sequence":%d}`, strings.TrimSuffix(body, "}"), i+1)
		a.destinationDeliveries = append(a.destinationDeliveries, d)
		a.destinations.webhooks[id] = webhookRecord{state: "delivered", sequence: i + 1}
	}
	a.monitors = []monitorRecord{m}
	return a
}

// aMessage returns a message about the incident of faultlessRun.
func aMessage(id string, seconds float64, text string) channel.Message {
	return channel.Message{ID: id, Text: text, Posted: text, PostedAt: at(seconds), Links: []channel.Link{{URL: publicURL + "/incidents/incident-a"}}}
}

// repeat posts a message again at the channel that only posts.
func repeat(a *audit, n int, seconds float64, text string) {
	posted := a.destinations.messages[teamsChannel]
	a.destinations.messages[teamsChannel] = slices.Insert(posted, n+1, aMessage("again", seconds, text))
}

// repeatWithKey lets LINE be told twice that an incident was opened, at seconds 13 and 14.
func repeatWithKey(a *audit, opened string) {
	a.destinations.messages[lineChannel] = []channel.Message{
		aMessage("1", 13, opened), aMessage("2", 14, opened), aMessage("3", 30, "✅ RESOLVED｜Black video, 5 s｜a"),
	}
	a.destinations.threads = append(a.destinations.threads, thread{about: "incident-a", destination: string(lineChannel), state: "delivered", opened: true, recorded: 2})
}

// auditCase changes a run without faults. finding is a part of the expected finding.
// If it is empty, the audit must find nothing.
type auditCase struct {
	change  func(*audit)
	finding string
}

func checkFindings(t *testing.T, cases map[string]auditCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := faultlessRun()
			c.change(a)
			findings, _ := a.check()
			if c.finding == "" && len(findings) > 0 {
				t.Errorf("the audit finds %q", findings)
			}
			if c.finding != "" && !strings.Contains(strings.Join(findings, "\n"), c.finding) {
				t.Errorf("the audit finds %q, want %q", findings, c.finding)
			}
		})
	}
}

// redeliver adds a second attempt of delivery i.
func redeliver(a *audit, i int, seconds float64) {
	d := a.deliveries[i]
	d.Received, d.Attempt = at(seconds), 2
	a.deliveries = slices.Insert(a.deliveries, i+1, d)
}

// setTimestamp sets X-Timestamp of delivery i.
func setTimestamp(a *audit, i int, when time.Time) {
	a.deliveries[i].Header = http.Header{"X-Timestamp": {fmt.Sprint(when.Unix())}}
}

func TestTheAuditFindsWrongEvidence(t *testing.T) {
	add := func(all ...storedEvidence) func(*audit) {
		return func(a *audit) { a.monitors[0].evidence = all }
	}
	checkFindings(t, map[string]auditCase{
		"finds nothing in the evidence of two events": {
			change: add(storedEvidence{"a", "event-1", "alert", 5, 0}, storedEvidence{"b", "event-2", "recovery", 3, 0}),
		},
		"finds evidence of an event that is not stored": {
			change: add(storedEvidence{"a", "event-9", "alert", 5, 0}), finding: "event event-9, which is not stored",
		},
		"finds a file without its bytes": {
			change: add(storedEvidence{"a", "event-1", "alert", 5, 2}), finding: "lacks the bytes of 2 of its 5 files",
		},
		"finds two records of an alert": {
			change: add(storedEvidence{"a", "event-1", "alert", 5, 0}, storedEvidence{"b", "event-1", "alert", 1, 0}), finding: "two records of evidence, a and b",
		},
	})
}

func TestTheAuditFindsWrongWebhooksOfDestinations(t *testing.T) {
	killedAt := func(seconds float64) []injection {
		return []injection{{name: "gateway killed", component: gatewayComponent, from: at(seconds), to: at(seconds + 0.1)}}
	}
	again := func(a *audit, i int, seconds float64) {
		d := a.destinationDeliveries[i]
		d.Received = at(seconds)
		a.destinationDeliveries = slices.Insert(a.destinationDeliveries, i+1, d)
	}
	checkFindings(t, map[string]auditCase{
		"finds an event that nothing is stored of": {
			change: func(a *audit) { delete(a.destinations.webhooks, "event-2") }, finding: "lost: monitor 0: nothing is stored of alert.blackout_recovered",
		},
		"finds a delivery that is pending": {
			change: func(a *audit) { a.destinations.webhooks["event-2"] = webhookRecord{"pending", 3, "500"} }, finding: "to the webhook destination is pending: 500",
		},
		"finds an event that never came": {
			change: func(a *audit) { a.destinationDeliveries = slices.Delete(a.destinationDeliveries, 1, 2) }, finding: "to the webhook destination and was never accepted",
		},
		"finds a gap in a sequence": {
			change: func(a *audit) { a.destinations.webhooks["event-3"] = webhookRecord{"delivered", 5, ""} }, finding: "has sequence 5, and is event 4",
		},
		"finds another sequence in the payload": {
			change: func(a *audit) {
				a.destinationDeliveries[3].Body = []byte(`{"event_id":"event-3","data":{},"sequence":3}`)
			}, finding: "differs from the stored bytes and sequence",
		},
		"finds events out of order": {
			change: func(a *audit) {
				d := a.destinationDeliveries
				d[1], d[2] = d[2], d[1]
			}, finding: "webhook destination: monitor 0: alert.blackout_recovered was delivered before",
		},
		"finds a repetition without a fault": {change: func(a *audit) { again(a, 1, 12) }, finding: "webhook destination: redelivered"},
		"accepts a repetition that a fault explains": {
			change: func(a *audit) {
				again(a, 1, 12)
				a.injected = killedAt(10.1)
			},
		},
	})
}

func TestTheAuditFindsWrongMessages(t *testing.T) {
	const opened = "🟠 HIGH｜Black video 5 s｜a"
	checkFindings(t, map[string]auditCase{
		"finds an incident that nobody was told of": {
			change: func(a *audit) {
				a.destinations.threads, a.destinations.messages[telegramChannel], a.destinations.messages[teamsChannel] = nil, nil, nil
			}, finding: "teams of incident or storm incident-a: lost: nobody was told of it",
		},
		"accepts an incident that a storm tells": {
			change: func(a *audit) {
				for n := range a.destinations.threads {
					t := &a.destinations.threads[n]
					storm := incidentRecord{id: "storm at " + t.destination, state: "resolved", isStorm: true, destination: t.destination}
					a.destinations.incidents = append(a.destinations.incidents, storm)
					a.destinations.threads = append(a.destinations.threads, thread{about: t.about, destination: t.destination, storm: storm.id, state: "idle"})
					a.destinations.threads[n].about = storm.id
				}
				for _, posted := range a.destinations.messages {
					for n := range posted {
						posted[n].Links[0].URL = publicURL + "/incidents"
					}
				}
			},
		},
		"finds a message that is recorded and never came": {
			change: func(a *audit) { a.destinations.messages[teamsChannel] = nil }, finding: "it is stored as told, and no message was ever posted",
		},
		"finds a message that is not recorded": {
			change: func(a *audit) { a.destinations.threads = nil }, finding: "that is not recorded, and no fault explains it",
		},
		"finds a thread that has failed": {
			change: func(a *audit) { a.destinations.threads[0].state = "failed" }, finding: "it has failed",
		},
		"finds an incident that is open": {
			change: func(a *audit) { a.destinations.incidents[0].state = "open" }, finding: "incident-a is open",
		},
		"finds a message that is never edited to its end": {
			change: func(a *audit) { a.destinations.messages[telegramChannel][0].Text = opened }, finding: "telegram of incident or storm incident-a: its end was not told",
		},
		"finds an end that is never posted": {
			change: func(a *audit) { a.destinations.messages[teamsChannel] = a.destinations.messages[teamsChannel][:1] }, finding: "teams of incident or storm incident-a: its end was not told",
		},
		"finds a ref to another message": {
			change: func(a *audit) {
				for n := range a.destinations.threads {
					a.destinations.threads[n].ref = "chat/7/false"
				}
			}, finding: "none: no message is chat/7/false",
		},
		"finds a message that comes again without a fault": {
			change: func(a *audit) { repeat(a, 0, 15, opened) }, finding: "and no fault explains it",
		},
		"accepts a message that comes again because of a fault": {
			change: func(a *audit) {
				repeat(a, 0, 15, opened)
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(13.1), to: at(13.2)}}
			},
		},
		"accepts one that a slow receiver took late": {
			change: func(a *audit) {
				repeat(a, 0, 15, opened)
				a.injected = []injection{{name: receiverSlow, component: receiverComponent, from: at(7), to: at(10.1)}}
			},
		},
		"finds one that a slow receiver took too early to explain it": {
			change: func(a *audit) {
				repeat(a, 0, 15, opened)
				a.injected = []injection{{name: receiverSlow, component: receiverComponent, from: at(7), to: at(9.9)}}
			}, finding: "and no fault explains it",
		},
		"finds a second opening with other conditions": {change: func(a *audit) { repeat(a, 0, 15, "🟠 HIGH｜Trouble｜a") }, finding: "and no fault explains it"},
		"finds a message that comes again although it is recorded": {
			change: func(a *audit) {
				repeat(a, 0, 15, opened)
				for n := range a.destinations.threads {
					a.destinations.threads[n].recorded = 3
				}
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(13.1), to: at(13.2)}}
			}, finding: "and no fault explains it",
		},
		"finds a message with a key that comes again": {
			change: func(a *audit) {
				repeatWithKey(a, opened)
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(13.1), to: at(13.2)}}
			}, finding: "line of incident or storm incident-a: redelivered",
		},
		"accepts what is new": {change: func(a *audit) { repeat(a, 0, 15, "🟠 HIGH, worse｜Black video + Silence 5 s｜a") }},
		"accepts a recovery that is told of each time": {
			change: func(a *audit) {
				a.destinations.incidents[0].reopened = 1
				repeat(a, 0, 15, "✅ RESOLVED｜Black video, 5 s｜a")
			},
		},
		"finds two alerts where the provider knows their key": {
			change: func(a *audit) {
				alert := aMessage("incident-a", 13, opened)
				alert.State = "resolved"
				a.destinations.messages[pagerDutyChannel] = []channel.Message{alert, alert}
				a.destinations.threads = append(a.destinations.threads, thread{about: "incident-a", destination: string(pagerDutyChannel), state: "delivered", opened: true})
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(13.1), to: at(13.2)}}
			}, finding: "pagerduty of incident or storm incident-a: redelivered",
		},
	})
}

func TestTheAuditFindsWrongDeliveries(t *testing.T) {
	checkFindings(t, map[string]auditCase{
		"finds nothing in a run without faults": {change: func(*audit) {}},
		"finds an accepted event that is not stored": {
			change: func(a *audit) { a.acceptedEvents["event-9"] = true }, finding: "lost: event event-9 was accepted",
		},
		"finds an event that is stored as sent and was not delivered": {
			change: func(a *audit) { a.deliveries = slices.Delete(a.deliveries, 1, 2) }, finding: "is stored as sent and was never accepted",
		},
		"finds an event that is still pending": {
			change: func(a *audit) { a.monitors[0].events[3].status = "pending" }, finding: "is pending after 1 attempts",
		},
		"finds a delivery of an event that is not stored": {
			change: func(a *audit) { a.deliveries[2].EventID = "event-8" }, finding: "was delivered and is not in the database",
		},
		"accepts the evidence of an alert": {
			change: func(a *audit) {
				body := strings.TrimSuffix(string(a.deliveries[1].Body), "}")
				a.deliveries[1].Body = []byte(body + `,"evidence":{"evidence_id":"e","links":{}}}`)
			},
		},
		"finds a redelivery with other bytes": {
			change: func(a *audit) {
				redeliver(a, 1, 10.5)
				a.deliveries[2].Body = []byte("{}")
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(10), to: at(10.1)}}
			}, finding: "differs from the stored bytes",
		},
		"finds a redelivery without a fault": {
			change: func(a *audit) { redeliver(a, 1, 12) }, finding: "redelivered",
		},
		"accepts a redelivery that a fault explains": {
			change: func(a *audit) {
				redeliver(a, 1, 12)
				a.injected = []injection{{name: "PostgreSQL killed", component: databaseComponent, from: at(10.1), to: at(10.1)}}
			},
		},
		"accepts a redelivery after a gateway that was killed as it stopped": {
			change: func(a *audit) {
				redeliver(a, 1, 12)
				stopping := gatewayRun{startedAt: at(-1), readyAt: at(0), endedAt: at(10.1), stopped: true, killed: true}
				a.gatewayRuns = []gatewayRun{stopping, {startedAt: at(10.2), readyAt: at(10.6)}}
			},
		},
		"accepts a redelivery after a gateway that ended before it was ready": {
			change: func(a *audit) {
				redeliver(a, 1, 12)
				a.gatewayRuns = []gatewayRun{
					{startedAt: at(-1), readyAt: at(0), endedAt: at(8), killed: true},
					{startedAt: at(8.1), endedAt: at(10.1), killed: true}, {startedAt: at(10.2), readyAt: at(11)},
				}
			},
		},
		"finds a redelivery while only another gateway is away": {
			change: func(a *audit) {
				redeliver(a, 1, 12)
				a.gatewayRuns = []gatewayRun{
					{startedAt: at(-1), readyAt: at(0), endedAt: at(7), killed: true}, {startedAt: at(13), readyAt: at(14)},
					{gateway: 1, startedAt: at(-1), readyAt: at(0)},
				}
			}, finding: "redelivered",
		},
		"finds a redelivery that only an unrelated fault precedes": {
			change: func(a *audit) {
				redeliver(a, 1, 12)
				a.injected = []injection{{name: "worker killed", component: workerComponent, from: at(10.1), to: at(10.1)}}
			}, finding: "redelivered",
		},
		"finds a redelivery long after a fault": {
			change: func(a *audit) {
				redeliver(a, 1, 18)
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(5), to: at(5)}}
			}, finding: "redelivered",
		},
		"accepts the timestamp of a clock that is off": {
			change: func(a *audit) {
				a.clocks = [][]clockSetting{{{at(9), -time.Hour}, {at(13), 0}}}
				setTimestamp(a, 1, at(10).Add(-time.Hour))
				setTimestamp(a, 2, at(19.4))
			},
		},
		"finds the true time in a timestamp while the clock is off": {
			change: func(a *audit) {
				a.clocks = [][]clockSetting{{{at(5), time.Hour}, {at(13), 0}}}
				setTimestamp(a, 1, at(10))
			}, finding: "which no gateway's clock showed then",
		},
		"finds a wrong timestamp after the clock was set right": {
			change: func(a *audit) {
				a.clocks = [][]clockSetting{{{at(5), time.Hour}, {at(13), 0}}}
				setTimestamp(a, 2, at(20).Add(time.Hour))
			}, finding: "which no gateway's clock showed then",
		},
		"finds a delivery out of order": {
			change: func(a *audit) { a.deliveries[1], a.deliveries[2] = a.deliveries[2], a.deliveries[1] }, finding: "was delivered before the earlier",
		},
	})
}

func TestTheAuditFindsWrongEpisodes(t *testing.T) {
	checkFindings(t, map[string]auditCase{
		"finds an episode that was observed and not reported": {
			change: func(a *audit) {
				a.monitors[0].expected = append(a.monitors[0].expected, episode{"silence", at(18), at(25)})
			}, finding: "lost: the silence",
		},
		"accepts a missing episode that was not observed": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.expected = append(m.expected, episode{"silence", at(18), at(25)})
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.to.After(at(18)) && request.from.Before(at(25)) })
				a.injected = []injection{{name: "gateway stopped", component: gatewayComponent, from: at(17), to: at(24)}}
			},
		},
		"accepts a missing episode whose segments only a capture fetched": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.expected = append(m.expected, episode{"silence", at(18), at(25)})
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.to.After(at(18)) && request.from.Before(at(25)) })
				m.requests = append(m.requests, segmentRequest{at(30.5), at(20), at(22)})
				a.injected = []injection{{name: "gateway stopped", component: gatewayComponent, from: at(17), to: at(24)}}
			},
		},
		"accepts a missing episode whose worker ended before it could report it": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.expected = append(m.expected, episode{"silence", at(18), at(22.5)})
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.After(at(18.5)) && request.from.Before(at(22)) })
				a.workerExits = []workerExit{{"mon-a", 1, at(20.5)}}
				a.injected = []injection{{name: "worker killed", component: workerComponent, monitor: "mon-a", from: at(20.4), to: at(20.4)}}
			},
		},
		"accepts the first observation as the onset if watching began during the episode": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.expected[0].from, m.registeredAt = at(7), at(8)
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.Before(at(10)) })
			},
		},
		"finds a reported episode that did not happen": {
			change: func(a *audit) { a.monitors[0].expected = nil }, finding: "was reported, and there was none",
		},
		"finds a wrong onset": {
			change: func(a *audit) { a.monitors[0].expected[0].from = at(9) }, finding: "the nearest was from",
		},
		"finds a wrong end": {
			change: func(a *audit) { a.monitors[0].expected[0].to = at(17) }, finding: "was reported to end at",
		},
		"finds an episode that is reported twice": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.events = slices.Insert(m.events, 3, m.events[1], m.events[2])
				m.historyTotal, m.statistics["blackout_events"] = 6, 2
			}, finding: "was reported twice",
		},
		"finds an alert without a recovery": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.events = slices.Delete(m.events, 2, 3)
			}, finding: "has no recovery",
		},
	})
}

func TestTheAuditFindsUnwatchedMonitors(t *testing.T) {
	checkFindings(t, map[string]auditCase{
		"finds a second stream.started": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.events = slices.Insert(m.events, 1, m.events[0])
			}, finding: "stream.started was sent 2 times",
		},
		"finds a monitor that is not completed": {
			change: func(a *audit) { a.monitors[0].status = "error" }, finding: "its final status is error",
		},
		"finds a monitor.error": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.events[2].eventType = "monitor.error"
			}, finding: "it sent monitor.error",
		},
		"finds statistics that differ from the events": {
			change: func(a *audit) { a.monitors[0].statistics["blackout_events"] = 2 }, finding: "blackout_events 2, and 1 were sent",
		},
		"finds a new monitor that is not watched": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.Before(at(12)) })
			}, finding: "no segment was requested from 12:00:00.000",
		},
		"finds a new monitor that is not watched for longer than a gateway kill explains": {
			change: func(a *audit) {
				a.monitors[0].registeredAt = at(-20)
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(-19), to: at(-18.5)}}
			}, finding: "no segment was requested from 11:59:40.000",
		},
		"accepts a new monitor that is not watched for a while after a gateway kill": {
			change: func(a *audit) {
				a.monitors[0].registeredAt = at(-15)
				a.injected = []injection{{name: "gateway killed", component: gatewayComponent, from: at(-14), to: at(-13.5)}}
			},
		},
		"finds a time without segment requests": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.After(at(17)) && request.from.Before(at(26)) })
			}, finding: "no segment was requested",
		},
		"accepts that a worker makes up for what it missed before it goes on": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.After(at(9)) })
				m.requests = append(m.requests, segmentRequest{at(18), at(16), at(18)}, segmentRequest{at(20), at(10), at(12)},
					segmentRequest{at(22), at(14), at(16)}, segmentRequest{at(24), at(12), at(14)}, segmentRequest{at(26), at(24), at(26)})
				a.injected = []injection{{name: "database connections hang", component: databaseComponent, from: at(11), to: at(14)}}
			},
		},
		"finds a time in which only a capture requests segments": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.After(at(17)) && request.from.Before(at(26)) })
				m.requests = append(m.requests, segmentRequest{at(24), at(2), at(4)}, segmentRequest{at(24.1), at(4), at(6)})
				slices.SortFunc(m.requests, func(x, y segmentRequest) int { return x.at.Compare(y.at) })
			}, finding: "no segment was requested",
		},
		"accepts that a URL whose renewal was disturbed is renewed after a pause": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.After(at(3)) })
				m.requests = append(m.requests, segmentRequest{at(25), at(12), at(14)})
				a.injected = []injection{{name: "yt-dlp killed", component: toolComponent, monitor: "mon-a", from: at(7), to: at(7)}}
			},
		},
		"finds a worker that is replaced too late": {
			change: func(a *audit) {
				m := &a.monitors[0]
				m.requests = slices.DeleteFunc(m.requests, func(request segmentRequest) bool { return request.from.After(at(3)) })
				m.requests = append(m.requests, segmentRequest{at(25), at(12), at(14)})
				a.injected = []injection{{name: "worker killed", component: workerComponent, monitor: "mon-a", from: at(5), to: at(5)}}
			}, finding: "the last fault nearby ended at",
		},
		"finds a history that differs from the stored events": {
			change: func(a *audit) { a.monitors[0].historyTotal = 3 }, finding: "its history lists 3 events",
		},
	})
}
