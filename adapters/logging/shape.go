package logging

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sirupsen/logrus"
)

// jsonShape is section 11.2.
type jsonShape struct{}

func (jsonShape) Format(e *logrus.Entry) ([]byte, error) {
	l := lineOf(e)
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"timestamp":"%s","level":"%s"`, e.Time.Format(timeForm), levelName(e.Level))
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

// textShape is for people at a terminal, who know which monitor they started.
type textShape struct{ coloured bool }

// The colours of a terminal (ECMA-48, 8.3.117).
const (
	dim    = "2"
	blue   = "36"
	yellow = "33"
	red    = "31;1"
)

func (s textShape) Format(e *logrus.Entry) ([]byte, error) {
	l := lineOf(e)
	var b bytes.Buffer
	b.WriteString(s.paint(dim, e.Time.Format("15:04:05.000")))
	b.WriteByte(' ')
	b.WriteString(s.paint(levelColour(e.Level), fmt.Sprintf("%-5s", levelName(e.Level))))
	b.WriteByte(' ')
	b.WriteString(printable(l.message))
	b.WriteString(s.paint(dim, "  "+l.component))
	s.members(&b, "", l.data)
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// members writes data as key=value, group.key=value.
func (s textShape) members(b *bytes.Buffer, prefix string, o *object) {
	for _, m := range o.members {
		if m.inner != nil {
			s.members(b, prefix+m.key+".", m.inner)
			continue
		}
		b.WriteByte(' ')
		b.WriteString(s.paint(dim, printable(prefix+m.key)+"="))
		b.WriteString(plain(m.value))
	}
}

// plain is a JSON value with its quotes left out where nothing needs them.
func plain(raw json.RawMessage) string {
	var str string
	if json.Unmarshal(raw, &str) == nil && str != "" && !strings.ContainsAny(str, " \"=") && printable(str) == str {
		return str
	}
	return printable(string(raw))
}

// printable keeps a text from moving the cursor or faking a line of its own.
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

func (s textShape) paint(colour, text string) string {
	if !s.coloured {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
