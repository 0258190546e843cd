package monitor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func TestTheAnswerOfATokenURLIsReadOrRefused(t *testing.T) { // section 5.7
	for answer, want := range map[string]string{
		"sig=s3cr3t&exp=1\n":                  "?sig=s3cr3t&exp=1 map[] never",
		"?sig=s3cr3t":                         "?sig=s3cr3t map[] never",
		`{"query": "sig=s3cr3t"}`:             "?sig=s3cr3t map[] never",
		`{"query": "?a=1", "expires_in": 90}`: "?a=1 map[] 1m30s",
		`{"query": "a=1", "expires_at": "2026-01-15T21:30:00+09:00"}`: "?a=1 map[] 30m0s",
		`{"query": "a=1", "expires_at": 1768480200, "other": []}`:     "?a=1 map[] 30m0s",
		`{"headers": {"X-Token": "s3cr3t"}, "expires_in": 0}`:         " map[x-token:s3cr3t] 0s",
	} {
		token, err := monitor.ReadToken([]byte(answer), noon)
		expires := "never"
		if !token.ExpiresAt.IsZero() {
			expires = token.ExpiresAt.Sub(noon).String()
		}
		if got := fmt.Sprint(token.Query, " ", token.Headers, " ", expires); err != nil || got != want || !token.AskedAt.Equal(noon) {
			t.Errorf("%s is %s, %v; want %s", answer, got, err, want)
		}
		if shown := fmt.Sprintf("%v %+v %#v", token, struct{ T monitor.Token }{token}, token); strings.Contains(shown, "s3cr3t") {
			t.Errorf("it is shown: %s", shown)
		}
	}
	for _, answer := range []string{
		"", "?", "<html>s3cr3t", "s3cr3t with spaces", "s3cr3t#x", "s3cr3t=%zz", "s3cr3t\nX: 1", strings.Repeat("s3cr3t", 2000),
		"{", `{"query": 1}`, `{}`, `{"query": ""}`, `{"query": "s3cr3t\r\n"}`, `{"headers": {"host": "s3cr3t"}}`, `{"headers": {"x": "s3cr3t\n"}}`, `{"headers": {"x": null}}`,
		`{"query": "s3cr3t", "expires_in": -1}`, `{"query": "s3cr3t", "expires_in": 1e30}`, `{"query": "s3cr3t", "expires_at": "soon"}`, `{"query": "s3cr3t", "expires_at": 0}`,
	} {
		if token, err := monitor.ReadToken([]byte(answer), noon); err == nil || !strings.Contains(err.Error(), `expected is {"query"`) && !strings.Contains(err.Error(), "bytes; expected") || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%.40q is %s, %v", answer, token.Query, err)
		}
	}
}

func TestWhenATokenURLIsAsked(t *testing.T) { // section 5.7
	after := func(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }
	token := func(at, life float64) monitor.Token {
		given := monitor.Token{Query: "?a=1", AskedAt: after(at)}
		if life > 0 {
			given.ExpiresAt = after(at + life)
		}
		return given
	}
	type step = func(*monitor.TokenRenewal)
	takes := func(at, life float64) step { return func(r *monitor.TokenRenewal) { r.Take(token(at, life)) } }
	fails := func(at float64) step { return func(r *monitor.TokenRenewal) { r.Fail(after(at), "answered 500") } }
	refusedAt := func(at, when float64) step {
		return func(r *monitor.TokenRenewal) { r.Refused(token(at, 0), after(when)) }
	}
	refused := func(at float64) step { return refusedAt(at, at) }
	const never = -1
	for name, c := range map[string]struct {
		steps []step
		at    float64 // when it is asked next
	}{
		"there is no token":                      {nil, 0},
		"it gives none":                          {[]step{fails(0)}, 5},
		"it gives none again":                    {[]step{fails(0), fails(5), fails(15)}, 35},
		"it never expires":                       {[]step{takes(0, 0)}, never},
		"it works for a day":                     {[]step{takes(0, 86400)}, 86340},
		"it works for two minutes":               {[]step{takes(0, 120)}, 90},
		"it works for three seconds":             {[]step{takes(0, 3)}, 5},
		"it has expired when it comes":           {[]step{takes(0, 0.001)}, 5},
		"no other is had before it expires":      {[]step{takes(0, 120), fails(90)}, 95},
		"it is refused":                          {[]step{takes(0, 120), refused(0)}, 0},
		"it is refused twice":                    {[]step{takes(0, 120), refused(0), refused(0)}, 0},
		"it is refused, and so is the next":      {[]step{takes(0, 120), refused(0), takes(10, 120), refused(10)}, 20},
		"it is refused, and so are the next two": {[]step{takes(0, 120), refused(0), takes(10, 120), refused(10), takes(20, 120), refused(20)}, 40},
		"and it expires before":                  {[]step{takes(0, 120), refused(0), takes(10, 8), refused(10)}, 16},
		"it is refused, and the next works":      {[]step{takes(0, 0), refused(0), takes(10, 0)}, never},
		"the next works for 4.9 s":               {[]step{takes(0, 0), refused(0), takes(10, 0), refusedAt(10, 14.9)}, 20},
		"the next works for 5 s":                 {[]step{takes(0, 0), refused(0), takes(10, 0), refusedAt(10, 15)}, 0},
		"an older one is refused":                {[]step{takes(0, 0), takes(10, 0), refused(0)}, never},
		"it is refused, and no other is had":     {[]step{takes(0, 120), refused(0), fails(1), fails(6)}, 16},
	} {
		var r monitor.TokenRenewal
		for _, s := range c.steps {
			s(&r)
		}
		at, ok := r.AskAt()
		switch {
		case !ok && c.at != never, ok && c.at == never:
			t.Errorf("%s: it is asked: %v", name, ok)
		case ok && !at.IsZero() && !at.Equal(after(c.at)), ok && at.IsZero() != (c.at == 0):
			t.Errorf("%s: it is asked after %v, want %v s", name, at.Sub(noon), c.at)
		case ok && (!r.Due(after(c.at)) || c.at > 0 && r.Due(after(c.at-0.001))):
			t.Errorf("%s: it is not due exactly from then on", name)
		}
	}
}
