package evidence_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	firstID   evidence.ID = "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c7d"
	secondID  evidence.ID = "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c7e"
	key                   = "0123456789abcdef0123456789abcdef"
	otherKey              = "fedcba9876543210fedcba9876543210"
	oneSecond             = time.Second
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestOnlyTheLinkThatWasSignedIsAccepted(t *testing.T) {
	expiresAt := noon.Add(900 * time.Second)
	for name, c := range map[string]struct {
		keys  evidence.LinkKeys
		alter func(*evidence.Link)
		now   time.Time
		code  monitor.Code
	}{
		"as signed":              {},
		"in its last second":     {now: expiresAt.Add(-time.Nanosecond)},
		"expired":                {now: expiresAt, code: evidence.LinkExpired},
		"expired long ago":       {now: expiresAt.Add(1000 * time.Hour), code: evidence.LinkExpired},
		"a later expiry":         {alter: func(l *evidence.Link) { l.ExpiresAt = l.ExpiresAt.Add(oneSecond) }, code: evidence.LinkInvalid},
		"expired and altered":    {alter: func(l *evidence.Link) { l.ExpiresAt = l.ExpiresAt.Add(oneSecond) }, now: expiresAt.Add(time.Hour), code: evidence.LinkInvalid},
		"another variant":        {alter: func(l *evidence.Link) { l.Variant = evidence.Clip }, code: evidence.LinkInvalid},
		"another id":             {alter: func(l *evidence.Link) { l.EvidenceID = secondID }, code: evidence.LinkInvalid},
		"another key id":         {alter: func(l *evidence.Link) { l.KeyID = "00000000" }, code: evidence.LinkInvalid},
		"no key id":              {alter: func(l *evidence.Link) { l.KeyID = "" }, code: evidence.LinkInvalid},
		"no signature":           {alter: func(l *evidence.Link) { l.Signature = "" }, code: evidence.LinkInvalid},
		"a cut signature":        {alter: func(l *evidence.Link) { l.Signature = l.Signature[:40] }, code: evidence.LinkInvalid},
		"an altered signature":   {alter: func(l *evidence.Link) { l.Signature = l.Signature[1:] + l.Signature[:1] }, code: evidence.LinkInvalid},
		"not base64":             {alter: func(l *evidence.Link) { l.Signature = "%" + l.Signature[1:] }, code: evidence.LinkInvalid},
		"another key":            {keys: evidence.LinkKeys{otherKey}, code: evidence.LinkInvalid},
		"no key":                 {keys: evidence.LinkKeys{}, code: evidence.LinkInvalid},
		"after a rotation":       {keys: evidence.LinkKeys{otherKey, key}},
		"after the key was lost": {keys: evidence.LinkKeys{otherKey, strings.Repeat("x", 32)}, code: evidence.LinkInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := evidence.LinkKeys{key}.Sign(firstID, evidence.Onset, expiresAt)
			if err != nil {
				t.Fatal(err)
			}
			if c.alter != nil {
				before := l
				if c.alter(&l); l == before {
					t.Fatal("the link was not altered")
				}
			}
			if c.keys == nil {
				c.keys = evidence.LinkKeys{key}
			}
			if c.now.IsZero() {
				c.now = noon
			}
			requireCode(t, c.keys.Check(l, c.now), c.code)
		})
	}
}

func TestNothingIsSignedWithoutAKey(t *testing.T) {
	if _, err := (evidence.LinkKeys)(nil).Sign(firstID, evidence.Clip, noon); err == nil {
		t.Error("a link was signed")
	}
}

func TestLinkKeysAreParsed(t *testing.T) {
	for text, want := range map[string]int{
		key:                              1,
		key + "," + otherKey:             2,
		key + ", " + otherKey:            2,
		strings.Repeat(key+",", 3) + key: 4,
		strings.Repeat(key+",", 4) + key: 0,
		"":                               0,
		"short":                          0,
		key + ",":                        0,
		"," + key:                        0,
		key + " " + otherKey:             0,
		strings.Repeat("x", 257):         0,
	} {
		keys, err := evidence.ParseLinkKeys(text)
		if len(keys) != want || (err == nil) != (want > 0) {
			t.Errorf("%q has %d keys, want %d: %v", text, len(keys), want, err)
		}
		if err != nil && len(text) > 5 && strings.Contains(err.Error(), key) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}

func requireCode(t *testing.T, err error, code monitor.Code) {
	t.Helper()
	var refused *monitor.Error
	switch {
	case code == "" && err != nil:
		t.Errorf("refused: %v", err)
	case code != "" && (!errors.As(err, &refused) || refused.Code != code):
		t.Errorf("the error is %v, want %s", err, code)
	}
}
