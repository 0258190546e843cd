package logging_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestSecretsInURLsAreRemoved(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"a media URL shows its host": {
			`Get "https://rr1---sn-x.googlevideo.com/videoplayback/expire/17/sig/SECRET?x=SECRET": timeout`,
			`Get "https://rr1---sn-x.googlevideo.com/…": timeout`,
		},
		"also with a port": {
			`https://manifest.googlevideo.com:8443/api/manifest/hls_variant/sig/SECRET`,
			`https://manifest.googlevideo.com:8443/…`,
		},
		"a callback hides its query": {
			`POST https://example.com/hook?token=SECRET failed`, `POST https://example.com/hook?… failed`,
		},
		"a database hides its user": {
			`dial postgres://app:SECRET@db:5432/monitor?sslmode=require`, `dial postgres://…@db:5432/monitor?…`,
		},
		"a password with an at sign is one all the same": {
			`https://u:SEC@RET@proxy:3128/`, `https://…@proxy:3128/`,
		},
		"a watch page is no secret": {
			`https://www.youtube.com/watch?v=abcdefghijk`, `https://www.youtube.com/watch?v=abcdefghijk`,
		},
		"more on a watch page is": {
			`https://www.youtube.com/watch?v=abcdefghijk&sig=SECRET`, `https://www.youtube.com/watch?…`,
		},
		"several in one text": {
			`http://a/?x=SECRET and http://b/?y=SECRET`, `http://a/?… and http://b/?…`,
		},
		"text without a URL": {`a: // b ? c`, `a: // b ? c`},
	} {
		t.Run(name, func(t *testing.T) {
			for place, args := range map[string][]any{
				"text":    {"v", c.in},
				"error":   {"v", errors.New(c.in)},
				"struct":  {"v", struct{ URL string }{c.in}},
				"raw":     {"v", json.RawMessage(strings.ReplaceAll(string(mustJSON(t, c.in)), "&", `\u0026`))},
				"message": nil,
			} {
				l, b := logger(t, "info")
				msg := "m"
				if place == "message" {
					msg = c.in
				}
				write(t, l, slog.LevelInfo, msg, args...)
				if !strings.Contains(b.String(), strings.Trim(string(mustJSON(t, c.want)), `"`)) {
					t.Errorf("%s: wrote %s want %s", place, b, c.want)
				}
				if strings.Contains(b.String(), "SEC") || strings.Contains(b.String(), "RET") {
					t.Errorf("%s: gave it away: %s", place, b)
				}
				if !json.Valid(b.Bytes()) {
					t.Errorf("%s: not JSON: %s", place, b)
				}
			}
		})
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw := must.Get(json.Marshal(v))(t)
	return raw
}
