package logging

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/sirupsen/logrus"
)

// NewServiceRelay returns a writer for the JSON lines of other processes, such as
// workers. It writes each as a line of NewServiceText to w, with times in zone; nil
// means that of the server, and shows the generation of the worker. Each Write is one whole line. A line of another format is
// written unchanged.
func NewServiceRelay(w io.Writer, zone *time.Location) io.Writer {
	if zone == nil {
		zone = time.Local
	}
	return &relay{w, zone, serviceFormatter(w)}
}

type relay struct {
	out    io.Writer
	zone   *time.Location
	format textFormatter
}

// Write implements io.Writer.
func (r *relay) Write(raw []byte) (int, error) {
	shown := raw
	if at, level, l, ok := parseLine(raw); ok {
		shown = r.format.format(at.In(r.zone), level, l)
	}
	if _, err := r.out.Write(shown); err != nil {
		return 0, err
	}
	return len(raw), nil
}

// parseLine reads a line of section 11.2.
func parseLine(raw []byte) (at time.Time, level logrus.Level, l *line, ok bool) {
	var given struct {
		Timestamp  time.Time       `json:"timestamp"`
		Level      string          `json:"level"`
		MonitorID  string          `json:"monitor_id"`
		Generation int             `json:"generation"`
		Component  string          `json:"component"`
		Message    string          `json:"message"`
		Data       json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &given) != nil || given.Message == "" || given.Timestamp.IsZero() {
		return at, level, nil, false
	}
	level, err := logrus.ParseLevel(given.Level)
	if err != nil {
		return at, level, nil, false
	}
	l = &line{given.MonitorID, given.Generation, given.Component, given.Message, parseObject(given.Data)}
	return given.Timestamp, level, l, true
}

// parseObject reads a JSON object and keeps the order of its members.
func parseObject(raw json.RawMessage) *object {
	o := &object{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return o
	}
	for dec.More() {
		key, err := dec.Token()
		name, is := key.(string)
		var value json.RawMessage
		if err != nil || !is || dec.Decode(&value) != nil {
			return o
		}
		m := member{key: name, value: value}
		if bytes.HasPrefix(value, []byte("{")) {
			m = member{key: name, inner: parseObject(value)}
		}
		o.members = append(o.members, m)
	}
	return o
}
