package main

import (
	"fmt"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// row is a line of the table: one event, or everything else in a clip.
type row struct {
	truth string
	cells [len(intervals)]cell
}

// cell is the result of a row at one check interval.
type cell struct {
	text  string
	wrong bool
}

// rows returns an item's lines: first one for each event, then one for intervals
// below the threshold and for false alarms, if there are any.
func rows(r result) (all []row) {
	var longest corpus.BadInterval // of those below the threshold
	short, condition := 0, ""
	for n, s := range r.item.Truth {
		if !s.Alert {
			if short++; condition == "" {
				condition = string(s.Of)
			} else if condition != string(s.Of) {
				condition = "either"
			}
			if s.Duration() > longest.Duration() {
				longest = s
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
	case short == 1:
		rest.truth = fmt.Sprintf("%s for %.1f s", condition, longest.Duration().Seconds())
	case short > 1:
		rest.truth = fmt.Sprintf("%d × %s ≤ %.1f s", short, condition, longest.Duration().Seconds())
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
	if len(all) == 0 || short > 0 || alarms > 0 {
		if len(all) > 0 && short == 0 {
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
		return cell{"not expected", false}
	case !v.ended:
		return cell{fmt.Sprintf("alert %+5d", ms(v.onset)), false}
	}
	return cell{fmt.Sprintf("alert %+5d  %+5d", ms(v.onset), ms(v.end)), false}
}
