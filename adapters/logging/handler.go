package logging

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
)

// handler passes slog records to logrus. It is immutable: WithAttrs and WithGroup
// return a new one.
type handler struct {
	out   *logrus.Logger
	zone  *time.Location
	calls []call
}

// call is one call of WithAttrs (attrs) or WithGroup (group).
type call struct {
	group string
	attrs []slog.Attr
}

func (h *handler) Enabled(_ context.Context, l slog.Level) bool {
	return h.out.IsLevelEnabled(logrusLevel(l))
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	return h.append(call{attrs: attrs})
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.append(call{group: name})
}

func (h *handler) append(c call) *handler {
	next := *h
	next.calls = append(slices.Clip(h.calls), c)
	return &next
}

// Handle writes one record. It returns no error: logrus handles a failing writer.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	l := &line{message: redact(r.Message), data: &object{}}
	into, depth := l.data, 0
	add := func(attrs []slog.Attr) {
		for _, a := range attrs {
			if depth == 0 && l.take(a) {
				continue
			}
			into.add(a, h.zone)
		}
	}
	for _, c := range h.calls {
		if c.group != "" {
			into = into.group(c.group)
			depth++
			continue
		}
		add(c.attrs)
	}
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	add(attrs)

	at := r.Time
	if at.IsZero() {
		at = time.Now()
	}
	h.out.WithContext(ctx).
		WithField(lineKey, l).
		WithTime(at.In(h.zone)).
		Log(logrusLevel(r.Level), l.message)
	return nil
}

// lineKey is the field of a logrus entry that carries the line to the formatter.
const lineKey = "line"

// line is the content of a record without time and level.
type line struct {
	monitorID  string
	generation int // of the worker that printed the line; 0: it is of this process
	component  string
	message    string
	data       *object
}

// take stores an attribute that is a member of the line itself (section 11.2), and
// reports whether it is one.
func (l *line) take(a slog.Attr) bool {
	switch a.Key {
	case "monitor_id":
		l.monitorID = text(a.Value)
	case "component":
		l.component = text(a.Value)
	default:
		return false
	}
	return true
}

// lineOf returns the line of an entry. An entry that was given to logrus directly has
// only a message.
func lineOf(e *logrus.Entry) *line {
	l, ok := e.Data[lineKey].(*line)
	if !ok {
		l = &line{message: redact(e.Message), data: &object{}}
	}
	if l.component == "" {
		l.component = DefaultComponent
	}
	return l
}

// levelName returns the level in the words of section 11.2.
func levelName(l logrus.Level) string {
	switch l {
	case logrus.DebugLevel, logrus.TraceLevel:
		return "DEBUG"
	case logrus.InfoLevel:
		return "INFO"
	case logrus.WarnLevel:
		return "WARN"
	}
	return "ERROR"
}
