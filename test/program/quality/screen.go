package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// screen is where the results are shown: in colour, and with a line that moves,
// on a terminal only.
type report struct {
	out      io.Writer
	terminal bool
	colour   bool
	all      int
	done     int
}

func newReport(out io.Writer) *report {
	s := &report{out: out}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		s.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
		s.colour = s.terminal && os.Getenv("NO_COLOR") == ""
	}
	return s
}

// The widths of the table's columns.
const (
	nameWidth  = 43
	truthWidth = 22
	cellWidth  = 23
)

// begin says what is going to happen.
func (s *report) begin(items, unmade int) {
	s.all = items
	making := ""
	if unmade > 0 {
		making = fmt.Sprintf(", %d of them to be made first", unmade)
	}
	fmt.Fprintf(s.out, "quality: %s%s; checks every 1, 5 and 10 s, each from %d starting points\n", count(items, "clip"), making, startPoints)
}

// advance moves the line that shows how far it is.
func (s *report) advance(i corpus.Item) {
	s.done++
	if s.terminal {
		fmt.Fprintf(s.out, "\r\x1b[K%3d of %d  %s", s.done, s.all, i.Name)
	}
}

func (s *report) endProgress() {
	if s.terminal {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}

// list says what the items show.
func (s *report) list(items []corpus.Item) {
	for _, i := range items {
		fmt.Fprintf(s.out, "%s\n    %s\n", s.bold(i.Name), i.Description)
	}
}

// table shows what became of each item, and in words what was wrong.
func (s *report) table(results []result) {
	s.line(s.plain, "", "", [len(intervals)]cell{{text: "check every 1 s"}, {text: "every 5 s"}, {text: "every 10 s"}})
	told := cell{text: "told   onset  end ms"}
	s.line(s.bold, "clip", "truth, s", [len(intervals)]cell{told, told, told})
	var wrong []string
	for _, r := range results {
		for n, row := range rows(r) {
			name := ""
			if n == 0 {
				name = r.item.Name
			}
			s.line(s.plain, name, row.truth, row.cells)
		}
		for _, at := range r.at {
			for _, alarm := range at.falseAlarms {
				wrong = append(wrong, r.item.Name+": "+alarm)
			}
		}
	}
	for _, w := range wrong {
		fmt.Fprintf(s.out, "\n%s %s", s.red("false alarm"), w)
	}
	if len(wrong) > 0 {
		fmt.Fprintln(s.out)
	}
}

// line is one line of the table.
func (s *report) line(style func(string) string, name, truth string, cells [len(intervals)]cell) {
	fmt.Fprint(s.out, style(pad(name, nameWidth)+pad(truth, truthWidth)))
	for n, c := range cells {
		text := c.text
		if n < len(cells)-1 {
			text = pad(text, cellWidth)
		}
		if c.wrong {
			text = s.red(text)
		}
		fmt.Fprint(s.out, style(text))
	}
	fmt.Fprintln(s.out)
}

// summary is the line at the end.
func (s *report) summary(t totals, took time.Duration) {
	missed, alarms := fmt.Sprintf("%d missed", t.missed), count(t.falseAlarms, "false alarm")
	if t.missed > 0 {
		missed = s.red(missed)
	}
	if t.falseAlarms > 0 {
		alarms = s.red(alarms)
	}
	fmt.Fprintf(s.out, "\n%s in %s, each watched %d times: %s, %s\n", count(t.events, "event"), count(t.clips, "clip"), len(intervals)*startPoints, missed, alarms)
	fmt.Fprintf(s.out, "onset: at worst %d ms off after a cut and %d ms in a fade, 95 %% within %d ms\n", ms(t.onset.cut), ms(t.onset.fade), ms(t.onset.p95))
	fmt.Fprintf(s.out, "end:   at worst %d ms off after a cut and %d ms in a fade, 95 %% within %d ms\n", ms(t.end.cut), ms(t.end.fade), ms(t.end.p95))
	fmt.Fprintf(s.out, "told:  at most %.1f, %.1f and %.1f s after the threshold was reached, %.1f s of it from a segment's end to its publication\n",
		t.delay[0].Seconds(), t.delay[1].Seconds(), t.delay[2].Seconds(), latency.Seconds())
	fmt.Fprintf(s.out, "took %.0f s\n", took.Seconds())
}

func (s *report) plain(text string) string { return text }
func (s *report) red(text string) string   { return s.styled("31", text) }
func (s *report) bold(text string) string  { return s.styled("1", text) }

func (s *report) styled(style, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// pad fills text up with spaces to a width in characters, one at least.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(1, width-utf8.RuneCountInString(text)))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func ms(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }
