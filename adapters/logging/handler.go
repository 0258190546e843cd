package logging

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
)

// handler hands slog's records to logrus. It is immutable: With and WithGroup
// make a new one.
type handler struct {
	out  *logrus.Logger
	zone *time.Location
	with []step
}

// step is one call of With (attrs) or WithGroup (group).
type step struct {
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
	return h.and(step{attrs: attrs})
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.and(step{group: name})
}

func (h *handler) and(s step) *handler {
	next := *h
	next.with = append(slices.Clip(h.with), s)
	return &next
}

// Handle writes one record. It returns no error: logrus deals with a failing
// writer by itself.
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
	for _, s := range h.with {
		if s.group != "" {
			into = into.group(s.group)
			depth++
			continue
		}
		add(s.attrs)
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

// lineKey is where a line travels through a logrus entry to its shape.
const lineKey = "line"

// line is what a record says, apart from when and how loudly.
type line struct {
	monitorID string
	component string
	message   string
	data      *object
}

// take keeps an attribute that is a member of the line itself (section 11.2).
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

// lineOf finds the line of an entry; an entry that logrus was given directly
// has none but its message.
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

// levelName is the level as section 11.2 writes it.
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
