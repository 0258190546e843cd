package message

import (
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// units says how a language writes durations and dates.
type units struct {
	language notify.Language
	words    [4]string // days, hours, minutes and seconds
	gap      string    // between a number and its word
	between  string    // between two words
	day      string    // layout of the date before a time of another day
}

var unitsOf = map[notify.Language]units{
	notify.English:  {notify.English, [4]string{"d", "h", "min", "s"}, " ", " ", "Jan 2 "},
	notify.Japanese: {notify.Japanese, [4]string{"日", "時間", "分", "秒"}, "", "", "1月2日 "},
}

// duration writes the greatest unit that is not 0 and the next one, such as "4 min 12 s".
func (u units) duration(d time.Duration) string {
	seconds := max(0, int64(d.Round(time.Second)/time.Second))
	var text []string
	left, first := seconds, -1
	for n, size := range []int64{86400, 3600, 60, 1} {
		count := left / size
		left %= size
		if count > 0 && (first < 0 || n == first+1) {
			text = append(text, fmt.Sprintf("%d%s%s", count, u.gap, u.words[n]))
		}
		if count > 0 && first < 0 {
			first = n
		}
	}
	if len(text) == 0 {
		return "0" + u.gap + u.words[3]
	}
	return strings.Join(text, u.between)
}

// functions are those that templates may call. words returns those of a detector's condition; of
// any other, they are empty. clock writes a time of the server's zone
// with its zone, and with its date if it is of another day than now.
func (u units) functions(now time.Time) template.FuncMap {
	return template.FuncMap{
		"duration": u.duration,
		"words": func(condition string) detector.Phrases {
			d, _ := detector.Of(trouble.Name(condition))
			return d.Words.In(string(u.language))
		},
		"clock": func(t time.Time) string {
			layout := "15:04:05 MST"
			if t.Format(time.DateOnly) != now.Format(time.DateOnly) {
				layout = u.day + layout
			}
			return t.Format(layout)
		},
		"between": func(from, to time.Time) string {
			layout := "15:04:05"
			if from.Format(time.DateOnly) != now.Format(time.DateOnly) || to.Format(time.DateOnly) != now.Format(time.DateOnly) {
				return from.Format(u.day+layout) + " – " + to.Format(u.day+layout+" MST")
			}
			return from.Format(layout) + "–" + to.Format(layout+" MST")
		},
	}
}
