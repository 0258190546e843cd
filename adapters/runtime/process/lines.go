package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// maxLine is the longest line that is forwarded, in bytes; the rest of a longer
// line is dropped.
const maxLine = 64 << 10

// outputForwarder forwards workers' output to the gateway's log. A worker, or a tool that a
// hostile stream has taken over, may print anything. So each forwarded line says of which
// worker it is, and none looks like a line of the gateway (section 11.2).
type outputForwarder struct {
	mu  sync.Mutex
	out io.Writer
}

// forward reads the output of a worker to its end. It logs a line that is not a log line as
// a WARN, because only a crashing worker prints one.
func (f *outputForwarder) forward(from io.Reader, of supervisor.WorkerSpec, log *slog.Logger) {
	r := bufio.NewReaderSize(from, maxLine)
	for {
		line, long, err := r.ReadLine()
		if err != nil {
			return
		}
		if whole, is := rewriteLogLine(line, of); is && !long {
			f.write(whole)
		} else {
			f.logText(line, long, log)
		}
		for long && err == nil {
			_, long, err = r.ReadLine()
		}
	}
}

func (f *outputForwarder) write(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// If the log cannot be written, the error cannot be reported either.
	_, _ = f.out.Write(line)
}

// logText logs what a worker printed as a value, because a message would be words of the
// gateway.
func (f *outputForwarder) logText(line []byte, cut bool, log *slog.Logger) {
	text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
	if text == "" {
		return
	}
	if cut {
		log = log.With("cut", true)
	}
	log.Warn("a worker printed a line that is no log line: look for the end of this worker", "line", text)
}

// workerLine is a log line of a worker, as the gateway's log has it. No line of the gateway
// itself has a generation there.
type workerLine struct {
	Timestamp  string          `json:"timestamp"`
	Level      string          `json:"level"`
	MonitorID  string          `json:"monitor_id"`
	Generation int             `json:"generation"`
	Component  string          `json:"component,omitempty"`
	Message    string          `json:"message"`
	Data       json.RawMessage `json:"data,omitempty"`
}

// logLevels are those of section 11.2.
var logLevels = []string{"DEBUG", "INFO", "WARN", "ERROR"}

// rewriteLogLine returns a line of section 11.2 with the worker that printed it, whatever the
// line says about that. is is false if the line does not have that format.
func rewriteLogLine(line []byte, of supervisor.WorkerSpec) (whole []byte, is bool) {
	var l workerLine
	if json.Unmarshal(line, &l) != nil || l.Message == "" || !slices.Contains(logLevels, l.Level) {
		return nil, false
	}
	if _, err := time.Parse(time.RFC3339Nano, l.Timestamp); err != nil {
		return nil, false
	}
	if len(l.Data) > 0 && l.Data[0] != '{' || !utf8.Valid(l.Data) {
		return nil, false
	}
	l.MonitorID, l.Generation = string(of.ID), of.Generation
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil { // it ends with a line feed
		return nil, false
	}
	return b.Bytes(), true
}
