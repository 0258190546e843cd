package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/domain/monitor/sourcetest"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

var (
	tokyo = time.FixedZone("JST", 9*60*60)
	at    = time.Date(2024, 1, 15, 11, 15, 30, 123_456_789, time.UTC)
)

// logger makes a logger that writes to the buffer it returns.
func logger(t *testing.T, level string) (*slog.Logger, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	l := must.Get(logging.New(&b, level, tokyo))(t)
	return l, &b
}

// write logs one record of a fixed time with l.
func write(t *testing.T, l *slog.Logger, level slog.Level, msg string, args ...any) {
	t.Helper()
	r := slog.NewRecord(at, level, msg, 0)
	r.Add(args...)
	must.Do(t, l.Handler().Handle(t.Context(), r))
}

func expectLine(t *testing.T, b *bytes.Buffer, want string) {
	t.Helper()
	if got := b.String(); got != want+"\n" {
		t.Errorf("wrote\n  %swant\n  %s", got, want)
	}
}

func TestALineHasTheSpecifiedFormat(t *testing.T) {
	type id string
	const stamp = `{"timestamp":"2024-01-15T20:15:30.123+09:00","level":`
	for name, c := range map[string]struct {
		with    func(*slog.Logger) *slog.Logger
		level   slog.Level
		message string
		args    []any
		want    string
	}{
		"the example of section 11.2, byte for byte": {
			func(l *slog.Logger) *slog.Logger {
				return l.With("component", "segment_analyzer", "monitor_id", "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d")
			},
			slog.LevelInfo, "Blackout detected", []any{"duration_sec", 35, "segment_sequence", 1520},
			stamp + `"INFO","monitor_id":"mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d","component":"segment_analyzer",` +
				`"message":"Blackout detected","data":{"duration_sec":35,"segment_sequence":1520}}`,
		},
		"no monitor_id and data when there are none": {
			func(l *slog.Logger) *slog.Logger { return l.With("monitor_id", "") },
			slog.LevelWarn, "low on disk", nil, stamp + `"WARN","component":"main","message":"low on disk"}`,
		},
		"the nearest component and monitor_id win, of whatever string type": {
			func(l *slog.Logger) *slog.Logger { return l.With("component", "outer", "monitor_id", id("mon-1")) },
			slog.LevelInfo, "m", []any{"component", "inner"}, stamp + `"INFO","monitor_id":"mon-1","component":"inner","message":"m"}`,
		},
		"groups nest, and what is inside them stays there": {
			func(l *slog.Logger) *slog.Logger { return l.With("a", 1).WithGroup("tool").With("component", "deep") },
			slog.LevelError, "m", []any{slog.Group("run", "code", 2), slog.Group("none")},
			stamp + `"ERROR","component":"main","message":"m","data":{"a":1,"tool":{"component":"deep","run":{"code":2}}}}`,
		},
		"the last of two values under one key is kept": {
			func(l *slog.Logger) *slog.Logger { return l.With("v", 1) },
			slog.LevelInfo, "m", []any{"v", 2}, stamp + `"INFO","component":"main","message":"m","data":{"v":2}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := logger(t, "info")
			write(t, c.with(l), c.level, c.message, c.args...)
			expectLine(t, b, c.want)
		})
	}
	t.Run("levels are upper case, those between take the lower", func(t *testing.T) {
		for level, want := range map[slog.Level]string{
			slog.LevelDebug: "DEBUG", slog.LevelInfo: "INFO", slog.LevelWarn: "WARN", slog.LevelError: "ERROR",
			slog.LevelDebug - 4: "DEBUG", slog.LevelInfo + 1: "INFO", slog.LevelError + 4: "ERROR",
		} {
			l, b := logger(t, "debug")
			write(t, l, level, "m")
			expect.Text(t, "the log", b.String(), `"level":"`+want+`"`)
		}
	})
}

type valuer struct{ v slog.Value }

func (v valuer) LogValue() slog.Value { return v.v }

type stringer struct{ X int }

func (stringer) String() string { return "a stringer" }

type bomb struct{}

func (bomb) Error() string { panic("boom") }

func TestEveryValueIsEncoded(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"an error is its text":                {errors.New("no such host"), `"no such host"`},
		"a duration is seconds":               {1500 * time.Millisecond, `1.5`},
		"a time is RFC 3339 in the zone":      {at, `"2024-01-15T20:15:30.123+09:00"`},
		"so is a pointer to one":              {&at, `"2024-01-15T20:15:30.123+09:00"`},
		"a missing one is null":               {(*time.Time)(nil), `null`},
		"a large duration has no exponent":    {90 * 24 * time.Hour, `7776000`},
		"text is quoted":                      {"a \"b\"\n", `"a \"b\"\n"`},
		"text of no encoding is repaired":     {"\xff", `"\ufffd"`},
		"infinity is text, JSON has none":     {math.Inf(1), `"+Inf"`},
		"so is what is not a number":          {math.NaN(), `"NaN"`},
		"bytes are text":                      {[]byte("ERROR: x"), `"ERROR: x"`},
		"a struct is an object":               {struct{ A int }{1}, `{"A":1}`},
		"a slice is a list":                   {[]string{"a", "b"}, `["a","b"]`},
		"a value that says its name is that":  {stringer{1}, `"a stringer"`},
		"a LogValuer is asked":                {valuer{slog.IntValue(7)}, `7`},
		"what cannot be encoded is described": {struct{ C chan int }{}, `"{C:<nil>}"`},
		"what panics is described":            {bomb{}, `"panic while logging: boom"`},
		"HTML is not escaped":                 {"a<b>&c", `"a<b>&c"`},
		"nil is null":                         {nil, `null`},
		"a bool is a bool":                    {true, `true`},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := logger(t, "info")
			write(t, l, slog.LevelInfo, "m", "v", c.value)
			expectLine(t, b, `{"timestamp":"2024-01-15T20:15:30.123+09:00","level":"INFO","component":"main","message":"m","data":{"v":`+c.want+`}}`)
		})
	}
}

func TestLinesBelowTheLevelAreNotWritten(t *testing.T) {
	for i, level := range logging.Levels {
		t.Run(level+" writes itself and what is louder", func(t *testing.T) {
			l, b := logger(t, level)
			for _, at := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				l.Log(t.Context(), at, "m")
			}
			if got, want := strings.Count(b.String(), "\n"), len(logging.Levels)-i; got != want {
				t.Errorf("wrote %d lines, want %d:\n%s", got, want, b)
			}
		})
	}
	for _, bad := range []string{"", "INFO", "warning", "trace", "loud"} {
		_, err := logging.New(&bytes.Buffer{}, bad, nil)
		if err == nil || !strings.Contains(err.Error(), "LOG_LEVEL") || !strings.Contains(err.Error(), `"`+bad+`"`) || !strings.Contains(err.Error(), "debug, info, warn, error") {
			t.Errorf("%q: the error is %v", bad, err)
		}
	}
}

// The test is the standard library's suite for handlers. It gets each line with the
// members where it expects them.
func TestTheHandlerFollowsSlog(t *testing.T) {
	var b *bytes.Buffer
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		l, buffer := logger(t, "debug")
		b = buffer
		return l.Handler()
	}, func(t *testing.T) map[string]any {
		var line map[string]any
		if err := json.Unmarshal(b.Bytes(), &line); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		flat := map[string]any{slog.TimeKey: line["timestamp"], slog.LevelKey: line["level"], slog.MessageKey: line["message"]}
		if data, ok := line["data"].(map[string]any); ok {
			maps.Copy(flat, data)
		}
		// Section 11.2 gives every line a time: a record without one gets the clock's.
		if strings.HasSuffix(t.Name(), "/zero-time") {
			delete(flat, slog.TimeKey)
		}
		return flat
	})
}

func TestConcurrentLinesDoNotMix(t *testing.T) {
	l, b := logger(t, "info")
	const writers, each = 16, 100
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			mine := l.With("component", "writer", "monitor_id", "mon").WithGroup("g")
			for i := range each {
				mine.Info("line", "w", w, "i", i, "text", strings.Repeat("x", 200))
			}
		})
	}
	wg.Wait()
	lines := bytes.Split(bytes.TrimSpace(b.Bytes()), []byte("\n"))
	if len(lines) != writers*each {
		t.Fatalf("%d lines, want %d", len(lines), writers*each)
	}
	for _, line := range lines {
		if !json.Valid(line) {
			t.Fatalf("lines mixed: %s", line)
		}
	}
}

func TestSecretsInURLsAreRemoved(t *testing.T) {
	sourcetest.Add(t, sourcetest.Imaginary)
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
		"the table of sources says which paths are signed": {
			`https://cdn.media.example/live/SECRET and https://live.example.com/news`, `https://cdn.media.example/… and https://live.example.com/news`,
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
				expect.Text(t, "the log", b.String(), strings.Trim(string(mustJSON(t, c.want)), `"`))
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
	return must.Get(json.Marshal(v))(t)
}
