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

// Levels are the accepted values of LOG_LEVEL (section 11.1), lowest first.
var Levels = []string{"debug", "info", "warn", "error"}

// ParseLevel parses a LOG_LEVEL. Its error names the variable, the value and the
// accepted values.
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

// New makes a logger that writes JSON lines (section 11.2) of this level and higher to
// w. Times are written in zone; nil means that of the server (decision A11). It
// returns the error of ParseLevel.
func New(w io.Writer, level string, zone *time.Location) (*slog.Logger, error) {
	return build(w, level, zone, jsonFormatter{})
}

// NewText makes a logger that writes lines for people: time of day, level, message,
// then data as key=value. It uses colours if w is a terminal and NO_COLOR is not set.
// It returns the error of ParseLevel.
func NewText(w io.Writer, level string, zone *time.Location) (*slog.Logger, error) {
	return build(w, level, zone, textFormatter{coloured: useColour(w)})
}

// NewServiceText is NewText for a process with many monitors: each line shows its
// monitor_id.
func NewServiceText(w io.Writer, level string, zone *time.Location) (*slog.Logger, error) {
	return build(w, level, zone, serviceFormatter(w))
}

func serviceFormatter(w io.Writer) textFormatter {
	return textFormatter{coloured: useColour(w), monitors: true}
}

func build(w io.Writer, level string, zone *time.Location, formatter logrus.Formatter) (*slog.Logger, error) {
	lowest, err := ParseLevel(level)
	if err != nil {
		return nil, err
	}
	if zone == nil {
		zone = time.Local
	}
	out := logrus.New()
	out.SetOutput(w)
	out.SetFormatter(formatter)
	out.SetLevel(logrusLevel(lowest))
	return slog.New(&handler{out: out, zone: zone}), nil
}

// logrusLevel rounds a level between two of the four down, as slog does.
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
