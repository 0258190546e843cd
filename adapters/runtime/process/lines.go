package process

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// maxLine is the longest line that is forwarded, in bytes; the rest of a longer
// line is dropped.
const maxLine = 64 << 10

// outputForwarder forwards workers' output to the gateway's log.
type outputForwarder struct {
	mu  sync.Mutex
	out io.Writer
}

// forward reads a worker's output to its end. It logs a line that is not a log line as a
// WARN, because only a crashing worker prints one.
func (f *outputForwarder) forward(from io.Reader, log *slog.Logger) {
	r := bufio.NewReaderSize(from, maxLine)
	for {
		line, long, err := r.ReadLine()
		if err != nil {
			return
		}
		if !long && isLogLine(line) {
			f.write(line)
		} else {
			f.logLine(line, long, log)
		}
		for long && err == nil {
			_, long, err = r.ReadLine()
		}
	}
}

func (f *outputForwarder) write(line []byte) {
	whole := append(append(make([]byte, 0, len(line)+1), line...), '\n')
	f.mu.Lock()
	defer f.mu.Unlock()
	// If the log cannot be written, the error cannot be reported either.
	_, _ = f.out.Write(whole)
}

func (f *outputForwarder) logLine(line []byte, cut bool, log *slog.Logger) {
	text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
	if text == "" {
		return
	}
	var attrs []slog.Attr
	if cut {
		attrs = append(attrs, slog.Bool("cut", true))
	}
	log.LogAttrs(context.Background(), slog.LevelWarn, text, attrs...)
}

// isLogLine reports whether a line has the format of section 11.2.
func isLogLine(line []byte) bool {
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	var l struct {
		Timestamp, Level, Message *string
	}
	return json.Unmarshal(line, &l) == nil && l.Timestamp != nil && l.Level != nil && l.Message != nil
}
