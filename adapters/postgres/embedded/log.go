package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
)

// maxLine is the maximum length of a log line of the server, in bytes; the rest is dropped.
const maxLine = 4096

// logWriter writes the server's log lines to the gateway's log. It keeps the newest line
// that may explain a failure.
type logWriter struct {
	log      *slog.Logger
	diskFull *throttle
	stopping atomic.Bool // the server was asked to stop

	mu      sync.Mutex
	partial []byte // a line whose end has not been written yet
	message string // the newest line of severity WARNING or higher; without one, the first line
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

// severities maps the server's severities to log levels. ERROR is missing, because the
// client gets the error and logs it. A FATAL only ends one connection.
var severities = map[string]slog.Level{
	"WARNING": slog.LevelWarn,
	"FATAL":   slog.LevelWarn,
	"PANIC":   slog.LevelError,
}

// clientLost is in the FATAL of a connection that its gateway cut, because the context of a
// statement ended.
const clientLost = "connection to client lost"

func (l *logWriter) line(text string) {
	if text == "" {
		return
	}
	severity, _, _ := strings.Cut(text, ":")
	level, known := severities[severity]
	// A stopping server ends each remaining connection with a FATAL.
	if !known || severity == "FATAL" && (l.stopping.Load() || strings.Contains(text, clientLost)) {
		level = slog.LevelDebug
	}
	if l.message == "" || level >= slog.LevelWarn {
		l.message = text
	}
	l.log.Log(context.Background(), level, text)
	if strings.Contains(text, noSpaceText) && !l.diskFull.suppresses(noSpaceText) {
		l.log.Error("no space is left for the database, so it stores no reports: free some space on the disk of DATA_DIR; "+
			"the gateway then goes on by itself, and no acknowledged data is lost", "said", text)
	}
}

// lastMessage returns the line that most likely explains a failure.
func (l *logWriter) lastMessage() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.message
}
