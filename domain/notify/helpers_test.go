package notify_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

var eight = time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)

// at is a time in seconds after eight.
func at(sec float64) time.Time { return eight.Add(time.Duration(sec * float64(time.Second))) }

const (
	black  = incident.Name("black")
	silent = incident.Name("silent")
)

const someMonitor = monitor.ID("mon-0190000000007000800000000000000a")

// expectWrong checks which fields are refused: one error for each, in order.
func expectWrong(t *testing.T, problems []error, fields ...string) {
	t.Helper()
	var got []string
	for _, err := range problems {
		refusal, ok := errors.AsType[*monitor.Error](err)
		if !ok || refusal.Code != monitor.InvalidConfig {
			t.Errorf("%v is no INVALID_CONFIG", err)
			continue
		}
		got = append(got, refusal.Message)
	}
	if len(got) != len(fields) {
		t.Errorf("refused: %q; want %q", got, fields)
		return
	}
	for n, field := range fields {
		if !strings.Contains(" "+got[n], " "+field+" ") && !strings.HasPrefix(got[n], field) {
			t.Errorf("%q does not name %s", got[n], field)
		}
	}
}

// destination returns a valid destination of a kind.
func destination(id string, kind notify.Kind) notify.Destination {
	d := notify.Destination{ID: id, Name: id, Kind: kind, Language: notify.English, Enabled: true, Config: map[string]string{}, Secrets: map[string]string{}}
	channel, _ := notify.ChannelOf(kind)
	for _, f := range channel.Fields {
		value := "text"
		switch {
		case strings.HasSuffix(f.Name, "url"):
			value = "https://example.com/hook"
		case f.Name == "from" || f.Name == "to" && kind == notify.Email:
			value = "team@example.com"
		}
		switch {
		case f.Required && f.Secret:
			d.Secrets[f.Name] = value
		case f.Required:
			d.Config[f.Name] = value
		}
	}
	if kind == notify.Slack {
		d.Secrets["bot_token"], d.Config["channel"] = "xoxb-1", "C1"
	}
	return d
}
