package logging

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/term"
)

// jsonFormatter writes the format of section 11.2.
type jsonFormatter struct{}

func (jsonFormatter) Format(e *logrus.Entry) ([]byte, error) {
	l := lineOf(e)
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"timestamp":"%s","level":"%s"`, e.Time.Format(timeFormat), levelName(e.Level))
	if l.monitorID != "" {
		b.WriteString(`,"monitor_id":`)
		b.Write(quote(l.monitorID))
	}
	b.WriteString(`,"component":`)
	b.Write(quote(l.component))
	b.WriteString(`,"message":`)
	b.Write(quote(l.message))
	if !l.data.empty() {
		b.WriteString(`,"data":`)
		l.data.write(&b)
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// textFormatter writes lines for people at a terminal.
type textFormatter struct {
	coloured bool
	monitors bool // monitor_id is shown
}

// The colours of a terminal (ECMA-48, 8.3.117).
const (
	dim    = "2"
	blue   = "36"
	yellow = "33"
	red    = "31;1"
)

func (f textFormatter) Format(e *logrus.Entry) ([]byte, error) {
	return f.format(e.Time, e.Level, lineOf(e)), nil
}

func (f textFormatter) format(at time.Time, level logrus.Level, l *line) []byte {
	var b bytes.Buffer
	b.WriteString(f.paint(dim, at.Format("15:04:05.000")))
	b.WriteByte(' ')
	b.WriteString(f.paint(levelColour(level), fmt.Sprintf("%-5s", levelName(level))))
	b.WriteByte(' ')
	b.WriteString(printable(l.message))
	b.WriteString(f.paint(dim, "  "+printable(l.component)))
	if f.monitors && l.monitorID != "" {
		b.WriteString(f.paint(dim, " monitor=") + printable(l.monitorID))
	}
	if l.generation > 0 {
		b.WriteString(f.paint(dim, " generation=") + strconv.Itoa(l.generation))
	}
	f.members(&b, "", l.data)
	b.WriteByte('\n')
	return b.Bytes()
}

// members writes data as key=value, group.key=value.
func (f textFormatter) members(b *bytes.Buffer, prefix string, o *object) {
	for _, m := range o.members {
		if m.inner != nil {
			f.members(b, prefix+m.key+".", m.inner)
			continue
		}
		b.WriteByte(' ')
		b.WriteString(f.paint(dim, printable(prefix+m.key)+"="))
		b.WriteString(plain(m.value))
	}
}

// plain returns a JSON value, without quotes where they are not needed.
func plain(raw json.RawMessage) string {
	var str string
	if json.Unmarshal(raw, &str) == nil && str != "" && !strings.ContainsAny(str, " \"=") && printable(str) == str {
		return str
	}
	return printable(string(raw))
}

// printable replaces control characters, with which a text could move the cursor or
// forge a line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '·'
		}
		return r
	}, s)
}

func levelColour(l logrus.Level) string {
	switch l {
	case logrus.DebugLevel, logrus.TraceLevel:
		return dim
	case logrus.InfoLevel:
		return blue
	case logrus.WarnLevel:
		return yellow
	}
	return red
}

func (f textFormatter) paint(colour, text string) string {
	if !f.coloured {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// useColour reports whether w is a terminal and its user has not declined colours
// (no-color.org; TERM=dumb).
func useColour(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// IsTerminal reports whether w is a terminal: an *os.File or another writer with its
// file descriptor.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}
