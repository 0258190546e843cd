package main

import (
	"fmt"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// row is a line of the table: one event, or everything in a clip that is none.
type row struct {
	truth string
	cells [len(intervals)]cell
}

// cell is what came of it at one check interval.
type cell struct {
	text  string
	wrong bool
}

// rows are an item's lines: first those of its events, then, if it has
// anything else or was given a false alarm, one for that.
func rows(r result) (all []row) {
	var short corpus.BadInterval // the longest of those that are no events
	shorts, what := 0, ""
	for n, s := range r.item.Truth {
		if !s.Alert {
			if shorts++; what == "" {
				what = string(s.Of)
			} else if what != string(s.Of) {
				what = "either"
			}
			if s.Duration() > short.Duration() {
				short = s
			}
			continue
		}
		line := row{truth: fmt.Sprintf("%s %.2f–%.2f", s.Of, s.From, s.To)}
		for k := range intervals {
			line.cells[k] = eventCell(r.at[k].verdicts[n])
		}
		all = append(all, line)
	}
	rest := row{truth: "nothing"}
	switch {
	case shorts == 1:
		rest.truth = fmt.Sprintf("%s for %.1f s", what, short.Duration().Seconds())
	case shorts > 1:
		rest.truth = fmt.Sprintf("%d × %s ≤ %.1f s", shorts, what, short.Duration().Seconds())
	}
	alarms := 0
	for k := range intervals {
		n := len(r.at[k].falseAlarms)
		alarms += n
		rest.cells[k] = cell{"none", false}
		if n > 0 {
			rest.cells[k] = cell{count(n, "FALSE ALARM"), true}
		}
	}
	if len(all) == 0 || shorts > 0 || alarms > 0 {
		if len(all) > 0 && shorts == 0 {
			rest.truth = "nothing else"
		}
		all = append(all, rest)
	}
	return all
}

func eventCell(v verdict) cell {
	switch {
	case v.missed > 0:
		return cell{fmt.Sprintf("MISSED %d of %d", v.missed, startPoints), true}
	case v.alerts == 0:
		return cell{"not to be seen", false}
	case !v.ended:
		return cell{fmt.Sprintf("alert %+5d", ms(v.onset)), false}
	}
	return cell{fmt.Sprintf("alert %+5d  %+5d", ms(v.onset), ms(v.end)), false}
}
