package notify_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestOnlyTheActionThatWasSignedIsAccepted(t *testing.T) {
	const key, otherKey = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	link := notify.ActionLink{
		Action: notify.Acknowledge, IncidentID: "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c7d",
		DestinationID: "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c7e", ExpiresAt: noon.Add(notify.ActionLinkTTL),
	}
	payload := func(token, from, to string) string {
		encoded, signature, _ := strings.Cut(token, ".")
		decoded, _ := base64.RawURLEncoding.DecodeString(encoded)
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(decoded), from, to, 1))) + "." + signature
	}
	for name, c := range map[string]struct {
		keys  evidence.LinkKeys
		alter func(token string) string
		now   time.Time
		storm string
		code  monitor.Code
	}{
		"as signed":            {},
		"in its last second":   {now: link.ExpiresAt.Add(-time.Nanosecond)},
		"expired":              {now: link.ExpiresAt, code: evidence.LinkExpired},
		"another action":       {alter: func(s string) string { return payload(s, "acknowledge", "silence") }, code: evidence.LinkInvalid},
		"another incident":     {alter: func(s string) string { return payload(s, "6c7d", "6c7f") }, code: evidence.LinkInvalid},
		"expired and altered":  {alter: func(s string) string { return payload(s, "6c7d", "6c7f") }, now: link.ExpiresAt, code: evidence.LinkInvalid},
		"an altered signature": {alter: func(s string) string { return s[:len(s)-6] + "AAAAAA" }, code: evidence.LinkInvalid},
		"no signature":         {alter: func(s string) string { return s[:strings.Index(s, ".")+1] }, code: evidence.LinkInvalid},
		"no dot":               {alter: func(s string) string { return strings.Replace(s, ".", "", 1) }, code: evidence.LinkInvalid},
		"much too long":        {alter: func(s string) string { return s + strings.Repeat("A", 2000) }, code: evidence.LinkInvalid},
		"nothing":              {alter: func(string) string { return "" }, code: evidence.LinkInvalid},
		"after a rotation":     {keys: evidence.LinkKeys{otherKey, key}},
		"another key":          {keys: evidence.LinkKeys{otherKey}, code: evidence.LinkInvalid},
		"no key":               {keys: evidence.LinkKeys{}, code: evidence.LinkInvalid},
		"of a storm":           {storm: "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c7f"},
	} {
		t.Run(name, func(t *testing.T) {
			link := link
			if c.storm != "" {
				link.IncidentID, link.DestinationID, link.StormID = "", "", c.storm
			}
			token, err := notify.SignAction(evidence.LinkKeys{key}, link)
			if err != nil {
				t.Fatal(err)
			}
			if c.alter != nil {
				before := token
				if token = c.alter(token); token == before {
					t.Fatal("the token was not altered")
				}
			}
			if c.keys == nil {
				c.keys = evidence.LinkKeys{key}
			}
			if c.now.IsZero() {
				c.now = noon
			}
			got, err := notify.CheckAction(c.keys, token, c.now)
			var refused *monitor.Error
			switch {
			case c.code == "" && (err != nil || got != link):
				t.Errorf("got %+v, %v", got, err)
			case c.code != "" && (!errors.As(err, &refused) || refused.Code != c.code):
				t.Errorf("the error is %v, want %s", err, c.code)
			}
		})
	}
}

func TestNoActionIsSignedWithoutAKey(t *testing.T) {
	if token, err := notify.SignAction(nil, notify.ActionLink{}); err == nil {
		t.Errorf("the token is %s", token)
	}
}

func TestAnActionURLIsBelowThePublicURL(t *testing.T) {
	for _, base := range []string{"https://monitor.example/sub", "https://monitor.example/sub/"} {
		if got := notify.ActionURL(base, "a.b"); got != "https://monitor.example/sub/act/a.b" {
			t.Error(got)
		}
	}
}
