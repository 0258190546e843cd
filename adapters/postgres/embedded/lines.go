package embedded

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
)

// maxLine is the longest line of the server that is kept, in bytes.
const maxLine = 4096

// lines turns what the server prints into log lines, and remembers the last
// one that says why something failed.
type lines struct {
	log      *slog.Logger
	full     *repeated
	stopping atomic.Bool // the server was asked to stop

	mu   sync.Mutex
	rest []byte
	said string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for part := range bytes.Lines(p) {
		whole := part[len(part)-1] == '\n'
		l.rest = append(l.rest, part[:min(len(part), maxLine-len(l.rest))]...)
		if whole {
			l.line(strings.TrimSpace(string(l.rest)))
			l.rest = l.rest[:0]
		}
	}
	return len(p), nil
}

// severities are the server's words for how bad a line is. An ERROR goes to
// the client that caused it, which tells; a FATAL ends one connection.
var severities = map[string]slog.Level{
	"WARNING": slog.LevelWarn,
	"FATAL":   slog.LevelWarn,
	"PANIC":   slog.LevelError,
}

func (l *lines) line(text string) {
	if text == "" {
		return
	}
	word, _, _ := strings.Cut(text, ":")
	level, known := severities[word]
	if !known || word == "FATAL" && l.stopping.Load() {
		level = slog.LevelDebug // a stopping server ends every connection that is left
	}
	if l.said == "" || level >= slog.LevelWarn {
		l.said = text
	}
	l.log.Log(context.Background(), level, text)
	if strings.Contains(text, noSpace) && !l.full.already(noSpace) {
		l.log.Error("no space is left for the database: what is reported now is not stored; "+
			"free some space where DATA_DIR is, then all goes on by itself, and what was confirmed is there", "said", text)
	}
}

// last is the line that says most about a failure.
func (l *lines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said
}
