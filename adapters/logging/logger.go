package logging

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
)

// DefaultComponent is the component of lines whose logger has none.
const DefaultComponent = "main"

// Levels are the values LOG_LEVEL accepts (section 11.1), the most talkative
// first.
var Levels = []string{"debug", "info", "warn", "error"}

// ParseLevel reads a LOG_LEVEL. The error names the variable, the value and
// what is accepted.
func ParseLevel(s string) (slog.Level, error) {
	switch s {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("LOG_LEVEL is %.40q; accepted are %s", s, strings.Join(Levels, ", "))
}

// New makes a logger that writes lines of section 11.2 to w, from level up.
// Times are shown in zone; nil means the server's (decision A11). The error is
// ParseLevel's.
func New(w io.Writer, level string, zone *time.Location) (*slog.Logger, error) {
	return build(w, level, zone, jsonShape{})
}

// NewText makes a logger that writes for people: time of day, level, message,
// then data as key=value. It uses colours when w is a terminal, unless
// NO_COLOR is set. The error is ParseLevel's.
func NewText(w io.Writer, level string, zone *time.Location) (*slog.Logger, error) {
	return build(w, level, zone, textShape{coloured: coloured(w)})
}

func build(w io.Writer, level string, zone *time.Location, shape logrus.Formatter) (*slog.Logger, error) {
	from, err := ParseLevel(level)
	if err != nil {
		return nil, err
	}
	if zone == nil {
		zone = time.Local
	}
	out := logrus.New()
	out.SetOutput(w)
	out.SetFormatter(shape)
	out.SetLevel(logrusLevel(from))
	return slog.New(&handler{out: out, zone: zone}), nil
}

// logrusLevel gives a level between two of the four the lower one, as slog does.
func logrusLevel(l slog.Level) logrus.Level {
	switch {
	case l >= slog.LevelError:
		return logrus.ErrorLevel
	case l >= slog.LevelWarn:
		return logrus.WarnLevel
	case l >= slog.LevelInfo:
		return logrus.InfoLevel
	}
	return logrus.DebugLevel
}
