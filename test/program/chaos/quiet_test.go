//go:build linux

package main

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

func TestTheAuditFindsWhatIsSentInAQuietTime(t *testing.T) {
	const worse = "🟠 HIGH, worse｜Black video + No sound 15 s｜a"
	quiet := func(q quietTime, more func(*audit)) func(*audit) {
		return func(a *audit) {
			a.operations.quiet = []quietTime{q}
			more(a)
		}
	}
	post := func(seconds float64, text string) func(*audit) {
		return func(a *audit) { repeat(a, 0, seconds, text) }
	}
	edit := func(seconds float64, text string) func(*audit) {
		return func(a *audit) {
			m := &a.destinations.messages[telegramChannel][0]
			m.Changes = append(m.Changes, channel.Change{At: at(seconds), Text: text})
		}
	}
	silence := quietTime{reason: "all monitors silenced", from: at(15), to: at(25)}
	off := quietTime{reason: "destination disabled", channels: []channelKind{teamsChannel}, from: at(15), to: at(40), noEnds: true}
	checkFindings(t, map[string]auditCase{
		"finds a message during a silence":               {change: quiet(silence, post(18, worse)), finding: ": all monitors silenced"},
		"finds an edit during a silence":                 {change: quiet(silence, edit(18, worse)), finding: "edited: true"},
		"accepts an end during a silence":                {change: quiet(silence, edit(18, "✅ RESOLVED｜Black video, 4 s｜a"))},
		"accepts a message after a silence":              {change: quiet(silence, post(26, worse))},
		"accepts a message that was being sent":          {change: quiet(silence, post(16, worse))},
		"finds an end at a destination that is disabled": {change: quiet(off, func(*audit) {}), finding: ": destination disabled"},
		"accepts a message at another destination":       {change: quiet(off, func(a *audit) { edit(18, worse)(a); a.destinations.messages[teamsChannel][1].PostedAt = at(41) })},
		"accepts a message that a fault delayed": {
			change: quiet(silence, func(a *audit) {
				post(19, worse)(a)
				a.injected = []injection{{name: "gateway stopped", component: gatewayComponent, from: at(15.5), to: at(18)}}
			}),
		},
		"finds a message that the end of a worker does not delay": {
			change: quiet(silence, func(a *audit) {
				post(19, worse)(a)
				a.injected = []injection{{name: "worker stopped", component: workerComponent, from: at(15.5), to: at(18)}}
			}), finding: ": all monitors silenced",
		},
		"accepts a message about another monitor": {
			change: quiet(quietTime{reason: "monitor silenced", monitor: "mon-b", from: at(15), to: at(25)}, post(18, worse)),
		},
		"finds a message at a destination that was deleted": {
			change: quiet(quietTime{reason: "destination deleted", channels: []channelKind{deletedChannel}, from: at(15), noEnds: true}, func(a *audit) {
				a.destinations.messages[deletedChannel] = []channel.Message{aMessage("1", 30, "✅ RESOLVED｜Black video, 17 s｜a")}
			}), finding: "deleted: ",
		},
	})
}

func TestTheAuditFindsWrongAcknowledgements(t *testing.T) {
	// acknowledge lets Ann acknowledge the incident at 20 s, so that all ends name her.
	acknowledge := func(more func(*audit)) func(*audit) {
		return func(a *audit) {
			i := &a.destinations.incidents[0]
			i.severity, i.acknowledgedSeverity, i.acknowledgedBy, i.acknowledgements = 2, 2, "Ann", []string{"Ann"}
			a.operations.acknowledgements = []acknowledgement{{"incident-a", "Ann", at(20)}}
			a.destinations.messages[telegramChannel][0].Text += "\nAcknowledged by Ann."
			a.destinations.messages[teamsChannel][1].Text += "\nAcknowledged by Ann."
			more(a)
		}
	}
	alert := func(seconds float64) func(*audit) {
		return func(a *audit) {
			m := aMessage("incident-a", seconds, "🟠 HIGH｜Black video 3 s｜a")
			m.State = "resolved"
			a.destinations.messages[pagerDutyChannel] = []channel.Message{m}
			a.destinations.threads = append(a.destinations.threads, thread{about: "incident-a", destination: string(pagerDutyChannel), state: "delivered", opened: true})
		}
	}
	untold := func(a *audit) {
		a.destinations.messages[pagerDutyChannel] = nil
		a.destinations.threads = append(a.destinations.threads, thread{about: "incident-a", destination: string(pagerDutyChannel), state: "idle"})
	}
	checkFindings(t, map[string]auditCase{
		"accepts an acknowledgement": {change: acknowledge(func(*audit) {})},
		"finds one that is not stored": {
			change: acknowledge(func(a *audit) { a.destinations.incidents[0].acknowledgements = nil }), finding: "by Ann is stored 0 times",
		},
		"finds one that is stored twice": {
			change: acknowledge(func(a *audit) { a.destinations.incidents[0].acknowledgements = []string{"Ann", "Ann"} }), finding: "by Ann is stored 2 times",
		},
		"finds an end that does not name her": {
			change: acknowledge(func(a *audit) { a.destinations.messages[teamsChannel][1].Text = "✅ RESOLVED｜Black video, 17 s｜a" }), finding: "does not say that it was acknowledged by Ann",
		},
		"accepts an end that was told before she had it": {
			change: acknowledge(func(a *audit) {
				a.operations.acknowledgements[0].at = at(31)
				a.destinations.messages[teamsChannel][1].Text = "✅ RESOLVED｜Black video, 17 s｜a"
			}),
		},
		"finds that it is escalated":           {change: acknowledge(alert(25)), finding: "pagerduty: \"🟠 HIGH｜Black video｜a\" was posted"},
		"accepts that it was escalated before": {change: acknowledge(alert(19))},
		"accepts that it is escalated, having got worse": {
			change: acknowledge(func(a *audit) { alert(25)(a); a.destinations.incidents[0].severity = 3 }),
		},
		"finds a sound about what somebody has": {
			change: acknowledge(func(a *audit) {
				m := aMessage("2", 25, "🟠 HIGH, still｜Black video 15 s｜a")
				m.Sound = true
				a.destinations.messages[telegramChannel] = append(a.destinations.messages[telegramChannel], m)
			}), finding: "and made a sound",
		},
		"accepts a sound about another condition": {
			change: acknowledge(func(a *audit) {
				m := aMessage("2", 25, "🟠 HIGH, worse｜Black video + No sound 15 s｜a")
				m.Sound = true
				a.destinations.messages[telegramChannel] = append(a.destinations.messages[telegramChannel], m)
			}),
		},
		"accepts a channel that was not told of what she already had": {
			change: acknowledge(func(a *audit) {
				a.operations.acknowledgements[0].at = at(11)
				a.destinations.messages[lineChannel] = nil
			}),
		},
		"finds a channel that was not told before she had it": {
			change: acknowledge(func(a *audit) { a.destinations.messages[lineChannel] = nil }), finding: "line of incident or storm incident-a: lost: nobody was told of it",
		},
		"accepts that what somebody has is not escalated": {change: acknowledge(untold)},
		"finds that what nobody has is not escalated":     {change: untold, finding: "pagerduty of incident or storm incident-a: lost: nobody was told of it"},
	})
}

func TestTheAuditFindsWhatAQuietTimeDoesNotExplain(t *testing.T) {
	const opened = "🟡 MEDIUM｜Black video 5 s｜a"
	// unknown is an incident that LINE was not told of. It began at second 10, and Teams was told of
	// it from second 13 to 30.
	unknown := func(quiet ...quietTime) func(*audit) {
		return func(a *audit) {
			a.operations.quiet = quiet
			a.destinations.messages[lineChannel] = nil
			a.destinations.messages[teamsChannel] = []channel.Message{aMessage("1", 13, opened), aMessage("2", 30, "✅ RESOLVED｜Black video, 17 s｜a")}
			delete(a.destinations.messages, telegramChannel)
		}
	}
	// unheard is an incident whose events came at seconds 10 and 20, and that no channel was told of.
	unheard := func(quiet ...quietTime) func(*audit) {
		return func(a *audit) {
			unknown(quiet...)(a)
			a.destinations.messages = map[channelKind][]channel.Message{lineChannel: nil}
			a.destinations.threads = nil
		}
	}
	silence := func(from, to float64) quietTime { return quietTime{reason: "silence", from: at(from), to: at(to)} }
	leftOut := func(from, to float64) quietTime {
		return quietTime{reason: "route", channels: []channelKind{lineChannel}, from: at(from), to: at(to)}
	}
	const lost = "line of incident or storm incident-a: lost: nobody was told of it"
	checkFindings(t, map[string]auditCase{
		"finds an incident that is untold without a quiet time":     {change: unknown(), finding: lost},
		"finds one if the quiet time ends long before the incident": {change: unknown(silence(11, 20)), finding: lost},
		"finds one if the quiet time begins long after it":          {change: unknown(leftOut(20, 40)), finding: lost},
		"finds one if another channel is left out":                  {change: unknown(quietTime{channels: []channelKind{teamsChannel}, from: at(11), to: at(40)}), finding: lost},
		"finds one if another monitor is silenced":                  {change: unknown(quietTime{monitor: "another", from: at(11), to: at(40)}), finding: lost},
		"accepts one if the quiet time ends with the incident":      {change: unknown(leftOut(11, 29))},
		"accepts one if the quiet time lasts":                       {change: unknown(quietTime{from: at(11)})},
		"accepts one if a quiet time follows another":               {change: unknown(silence(11, 20), leftOut(22, 40))},
		"finds one if the quiet time ends shortly before":           {change: unknown(silence(11, 25.5)), finding: lost},
		"accepts one if others are told first after a quiet time": {change: func(a *audit) {
			unknown(silence(11, 25.5))(a)
			others := []incidentRecord{{id: "storm-b", state: "resolved", isStorm: true}, {id: "storm-c", state: "resolved", isStorm: true}}
			a.destinations.incidents = append(a.destinations.incidents, others...)
		}},
		"accepts one that no channel knows if it was silenced":      {change: unheard(silence(8, 21))},
		"finds one that no channel knows without a silence":         {change: unheard(), finding: lost},
		"finds one that no channel knows if that of a silence ends": {change: unheard(silence(1, 5)), finding: lost},
	})
}
