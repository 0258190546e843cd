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

// printer writes the results. On a terminal it uses colours and a progress line.
type printer struct {
	out      io.Writer
	terminal bool
	colour   bool
	items    int
	done     int
}

func newPrinter(out io.Writer) *printer {
	p := &printer{out: out}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
		p.colour = p.terminal && os.Getenv("NO_COLOR") == ""
	}
	return p
}

// The widths of the table's columns.
const (
	nameWidth  = 43
	truthWidth = 22
	cellWidth  = 23
)

// begin prints the number of clips, and how many must be encoded first.
func (p *printer) begin(items, missing int) {
	p.items = items
	encoding := ""
	if missing > 0 {
		encoding = fmt.Sprintf(", %d of them to be encoded first", missing)
	}
	fmt.Fprintf(p.out, "quality: %s%s; checks every 1, 5 and 10 s, each from %d starting points\n", count(items, "clip"), encoding, startPoints)
}

// advance counts a finished item and updates the progress line.
func (p *printer) advance(i corpus.Item) {
	p.done++
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%3d of %d  %s", p.done, p.items, i.Name)
	}
}

func (p *printer) endProgress() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// list prints the description of each item.
func (p *printer) list(items []corpus.Item) {
	for _, i := range items {
		fmt.Fprintf(p.out, "%s\n    %s\n", p.bold(i.Name), i.Description)
	}
}

// table prints the rows of all results, and the false alarms below them.
func (p *printer) table(results []result) {
	p.line(p.plain, "", "", [len(intervals)]cell{{text: "check every 1 s"}, {text: "every 5 s"}, {text: "every 10 s"}})
	heading := cell{text: "alert  onset  end ms"}
	p.line(p.bold, "clip", "truth, s", [len(intervals)]cell{heading, heading, heading})
	var alarms []string
	for _, r := range results {
		for n, row := range rows(r) {
			name := ""
			if n == 0 {
				name = r.item.Name
			}
			p.line(p.plain, name, row.truth, row.cells)
		}
		for _, at := range r.at {
			for _, alarm := range at.falseAlarms {
				alarms = append(alarms, r.item.Name+": "+alarm)
			}
		}
	}
	for _, alarm := range alarms {
		fmt.Fprintf(p.out, "\n%s %s", p.red("false alarm"), alarm)
	}
	if len(alarms) > 0 {
		fmt.Fprintln(p.out)
	}
}

// inexact prints the alerts whose onset or end is out of its bound.
func (p *printer) inexact(all []string) {
	for _, text := range all {
		fmt.Fprintf(p.out, "\n%s %s", p.red("inexact"), text)
	}
	if len(all) > 0 {
		fmt.Fprintln(p.out)
	}
}

// line prints one line of the table.
func (p *printer) line(style func(string) string, name, truth string, cells [len(intervals)]cell) {
	fmt.Fprint(p.out, style(pad(name, nameWidth)+pad(truth, truthWidth)))
	for n, c := range cells {
		text := c.text
		if n < len(cells)-1 {
			text = pad(text, cellWidth)
		}
		if c.wrong {
			text = p.red(text)
		}
		fmt.Fprint(p.out, style(text))
	}
	fmt.Fprintln(p.out)
}

// summary prints the totals.
func (p *printer) summary(t totals) {
	missed, alarms := fmt.Sprintf("%d missed", t.missed), count(t.falseAlarms, "false alarm")
	if t.missed > 0 {
		missed = p.red(missed)
	}
	if t.falseAlarms > 0 {
		alarms = p.red(alarms)
	}
	fmt.Fprintf(p.out, "\n%s in %s, each watched %d times: %s, %s\n", count(t.events, "event"), count(t.clips, "clip"), len(intervals)*startPoints, missed, alarms)
	fmt.Fprintf(p.out, "onset: at worst %d ms off after a cut and %d ms in a fade, 95 %% within %d ms\n", ms(t.onset.cut), ms(t.onset.fade), ms(t.onset.p95))
	fmt.Fprintf(p.out, "end:   at worst %d ms off after a cut and %d ms in a fade, 95 %% within %d ms\n", ms(t.end.cut), ms(t.end.fade), ms(t.end.p95))
	fmt.Fprintf(p.out, "alert: at most %.1f, %.1f and %.1f s after the threshold was reached, %.1f s of it from a segment's end to its publication\n",
		t.delay[0].Seconds(), t.delay[1].Seconds(), t.delay[2].Seconds(), latency.Seconds())
}

// comparison prints how segment-decoder differs from ffmpeg.
func (p *printer) comparison(c comparison) {
	fmt.Fprintf(p.out, "segment-decoder: answered for %d of %s at segments, and left the others to ffmpeg\n", c.looks-c.left, count(c.looks, "look"))
	if c.compared == 0 {
		return
	}
	differences := count(len(c.differences), "difference")
	if len(c.differences) > 0 {
		differences = p.red(differences)
	}
	fmt.Fprintf(p.out, "compared with ffmpeg alone: %s in %s with %s; instants at most %d ms apart\n",
		differences, count(c.compared, "watch"), count(c.alerts, "alert"), ms(c.largest))
	for _, d := range c.differences {
		fmt.Fprintf(p.out, "%s %s\n", p.red("difference"), d)
	}
}

func (p *printer) took(d time.Duration) { fmt.Fprintf(p.out, "took %.0f s\n", d.Seconds()) }

func (p *printer) plain(text string) string { return text }
func (p *printer) red(text string) string   { return p.styled("31", text) }
func (p *printer) bold(text string) string  { return p.styled("1", text) }

func (p *printer) styled(style, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// pad appends spaces to reach a width in characters. It appends at least one.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(1, width-utf8.RuneCountInString(text)))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if what == "watch" {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func ms(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }
