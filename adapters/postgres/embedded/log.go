package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
)

// maxLine is how much of one line of the server's log is kept, in bytes.
const maxLine = 4096

// logWriter passes the server's log lines on to the gateway's log, and remembers
// the latest that may explain a failure.
type logWriter struct {
	log      *slog.Logger
	diskFull *throttle
	stopping atomic.Bool // the server was asked to stop

	mu      sync.Mutex
	partial []byte // a line whose end has not been written yet
	message string // the first line, or the latest of WARNING and above
}

func (l *logWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for part := range bytes.Lines(p) {
		complete := part[len(part)-1] == '\n'
		l.partial = append(l.partial, part[:min(len(part), maxLine-len(l.partial))]...)
		if complete {
			l.line(strings.TrimSpace(string(l.partial)))
			l.partial = l.partial[:0]
		}
	}
	return len(p), nil
}

// severities maps the server's severities to log levels. An ERROR goes to the
// client that caused it, which logs it; a FATAL ends one connection.
var severities = map[string]slog.Level{
	"WARNING": slog.LevelWarn,
	"FATAL":   slog.LevelWarn,
	"PANIC":   slog.LevelError,
}

func (l *logWriter) line(text string) {
	if text == "" {
		return
	}
	severity, _, _ := strings.Cut(text, ":")
	level, known := severities[severity]
	if !known || severity == "FATAL" && l.stopping.Load() {
		level = slog.LevelDebug // a stopping server ends every connection that is left with a FATAL
	}
	if l.message == "" || level >= slog.LevelWarn {
		l.message = text
	}
	l.log.Log(context.Background(), level, text)
	if strings.Contains(text, noSpaceText) && !l.diskFull.suppresses(noSpaceText) {
		l.log.Error("no space is left for the database: what is reported now is not stored; "+
			"free some space where DATA_DIR is, then all goes on by itself, and what was confirmed is there", "said", text)
	}
}

// lastMessage returns the line that most likely explains a failure.
func (l *logWriter) lastMessage() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.message
}
