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

// maxLine is the longest line of a worker's that is passed through, in bytes;
// the rest of a longer one is dropped.
const maxLine = 64 << 10

// printer passes what workers print to the gateway's log.
type printer struct {
	mu  sync.Mutex
	out io.Writer
}

// pass reads what a worker prints to its end. Lines that are no log lines become
// warnings of log: a worker has nothing else to print but what it dies of.
func (p *printer) pass(from io.Reader, log *slog.Logger) {
	r := bufio.NewReaderSize(from, maxLine)
	for {
		line, long, err := r.ReadLine()
		if err != nil {
			return
		}
		if !long && isLogLine(line) {
			p.write(line)
		} else {
			p.wrap(line, long, log)
		}
		for long && err == nil {
			_, long, err = r.ReadLine()
		}
	}
}

func (p *printer) write(line []byte) {
	whole := append(append(make([]byte, 0, len(line)+1), line...), '\n')
	p.mu.Lock()
	defer p.mu.Unlock()
	// A log that cannot be written has nobody to tell.
	_, _ = p.out.Write(whole)
}

func (p *printer) wrap(line []byte, cut bool, log *slog.Logger) {
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

// isLogLine tells a line of section 11.2.
func isLogLine(line []byte) bool {
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	var l struct {
		Timestamp, Level, Message *string
	}
	return json.Unmarshal(line, &l) == nil && l.Timestamp != nil && l.Level != nil && l.Message != nil
}
