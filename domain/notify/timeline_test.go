package notify_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// black has severity 1, 2 from 120 s on and 3 from 600 s on; no media 2, and 3 from 300 s on; late 0 for 600 s.
// An incident is resolved 60 s after its end, then 120 s after it.
func TestADestinationIsToldWhatItDoesNotKnow(t *testing.T) { // section 19.3
	const late, noMedia = incident.Late, incident.NoMedia
	ann, bob := incident.Acknowledge{By: "ann"}, incident.Acknowledge{By: "bob"}
	down := func(d *destined, from, to float64) *destined {
		d.down = func(now time.Time) bool { return !now.Before(at(from)) && now.Before(at(to)) }
		return d
	}
	for name, c := range map[string]struct {
		edits, writes *destined // nil: it is not there
		happens       func(w *world)
		toEdits       string
		toWrites      string
	}{
		"an incident is one message that is edited, or waits for its picture": {
			edits(), writes(), func(w *world) {
				w.at(0, began(black, 0)).at(2, incident.PictureAdded{Picture: incident.Picture{EvidenceID: "a"}}).at(60, ended(black, 60)).at(1000)
			},
			"0 opened!, 2 updated, 60 updated, 120 recovered",
			"2 opened!, 120 recovered",
		},
		"another condition and every rise of the severity are worse, but none that comes back": {
			edits(), writes(), func(w *world) {
				w.at(0, began(black, 0)).at(700, began(noMedia, 700)).at(710, ended(noMedia, 710)).at(720, began(noMedia, 720)).at(800)
			},
			"0 opened!, 120 worse!, 600 worse!, 700 worse!, 710 updated, 720 updated",
			"3 opened!, 120 worse!, 600 worse!, 700 worse!",
		},

		"after a reopening worse is worse than what was heard since": {
			edits(), writes(), func(w *world) {
				w.at(0, began(black, 0)).at(200, ended(black, 200)).at(800, began(black, 800)).at(1000)
			},
			"0 opened!, 120 worse!, 200 updated, 260 recovered, 800 reopened!, 920 worse!",
			"3 opened!, 120 worse!, 260 recovered, 800 reopened!, 920 worse!",
		},
		"the sound of a reopening that is owed counts its severity": {
			edits(), writes(), func(w *world) {
				w.at(0, began(black, 0)).at(200, ended(black, 200)).at(500, began(black, 500)).at(1000)
			},
			"0 opened!, 120 worse!, 200 updated, 260 recovered, 500 reopened, 720 reopened!",
			"3 opened!, 120 worse!, 260 recovered, 720 reopened!",
		},
		"whoever takes a reopening knows how severe it was before": {
			nil, writes(), func(w *world) {
				w.at(0, began(black, 0)).at(200, ended(black, 200)).at(800, began(black, 800), ann).at(1000)
			},
			"", "3 opened!, 120 worse!, 260 recovered, 800 reopened!, 800 acknowledged, 920 worse",
		},
		"a sound that is owed is made when its limit has passed": {
			edits(), writes(), func(w *world) { w.at(0, began(late, 0)).at(10, ended(late, 10)).at(300, began(late, 300)).at(800) },
			"0 opened!, 10 updated, 70 recovered, 300 reopened, 600 reopened!",
			"3 opened!, 70 recovered, 603 reopened!",
		},
		"no sound is owed once somebody has taken it": {
			edits(), writes(), func(w *world) {
				w.at(0, began(late, 0)).at(10, ended(late, 10)).at(300, began(late, 300)).at(400, ann).at(800)
			},
			"0 opened!, 10 updated, 70 recovered, 300 reopened, 400 acknowledged",
			"3 opened!, 70 recovered, 400 reopened",
		},
		"another condition that reopens owes none": {
			edits(), writes(), func(w *world) { w.at(0, began(late, 0)).at(10, ended(late, 10)).at(300, began(black, 300)).at(310) },
			"0 opened!, 10 updated, 70 recovered, 300 reopened!",
			"3 opened!, 70 recovered, 300 reopened!",
		},
		"a condition that comes back after a reopening is heard if it lasts": {
			edits(), writes(), func(w *world) {
				w.at(0, began(black, 0)).at(5, ended(black, 5)).at(100, began(late, 100)).at(550, began(black, 550)).at(620)
			},
			"0 opened!, 5 updated, 65 recovered, 100 reopened!, 550 updated, 600 worse!",
			"3 opened!, 65 recovered, 100 reopened!, 603 worse!",
		},
		"but not if it is over before": {
			edits(), writes(), func(w *world) {
				w.at(0, began(black, 0)).at(5, ended(black, 5)).at(100, began(late, 100)).at(200, began(black, 200)).at(210, ended(black, 210)).at(900)
			},
			"0 opened!, 5 updated, 65 recovered, 100 reopened!, 200 updated, 210 updated",
			"3 opened!, 65 recovered, 100 reopened!",
		},
		"what flaps makes one sound in ten minutes, or when it is worse": {
			edits(), writes(), func(w *world) {
				w.at(0, began(black, 0)).at(10, ended(black, 10)).at(200, began(black, 200)).at(210, ended(black, 210)) // resolved at 70 s and at 330 s
				w.at(400, began(black, 400)).at(610, ended(black, 610)).at(3000)
			},
			"0 opened!, 10 updated, 70 recovered, 200 reopened, 210 updated, 330 recovered, 400 reopened, 520 reopened!, 610 updated, 850 recovered",
			"3 opened!, 70 recovered, 520 reopened!, 850 recovered",
		},
		"blindness of half a minute is not told": {
			edits(), writes(), func(w *world) {
				w.at(0, began(incident.Blind, 0)).at(29, ended(incident.Blind, 29)).at(200, began(incident.Blind, 200)).at(400, ended(incident.Blind, 400)).at(1000)
			},
			"230 opened!, 400 updated, 520 recovered",
			"230 opened!, 520 recovered",
		},

		"a silence over the opening is told when it ends": {
			edits(), nil, func(w *world) { w.silence(notify.Silence{EndsAt: at(300)}).at(10, began(black, 10)).at(1000) },
			"300 opened!, 610 worse!", "",
		},
		"a silence over all of it hides it": {
			edits(), nil, func(w *world) {
				w.silence(notify.Silence{EndsAt: at(300)}).at(10, began(black, 10)).at(100, ended(black, 100)).at(1000)
			},
			"", "",
		},
		"a silence never holds an end back": {
			edits(), writes().repeated(10 * time.Minute), func(w *world) {
				w.at(10, began(black, 10)).at(20).silence(notify.Silence{EndsAt: at(5000)}).at(30, ann).at(800, ended(black, 800)).at(4000)
			},
			"10 opened!, 860 recovered", "13 opened!, 860 recovered",
		},
		"neither does one without an end": {
			edits(), nil, func(w *world) {
				w.at(10, began(black, 10)).at(20).silence(notify.Silence{UntilRecovered: true}).at(800, ended(black, 800)).at(4000)
			},
			"10 opened!, 860 recovered", "",
		},

		"a delayed route is for what lasts": {
			nil, writes().delayed(5 * time.Minute), func(w *world) { w.at(0, began(black, 0)).at(310, ended(black, 310)).at(1000) },
			"", "300 opened!, 370 recovered",
		},
		"and not for what is about to be resolved": {
			nil, writes().delayed(5 * time.Minute), func(w *world) { w.at(0, began(black, 0)).at(250, ended(black, 250)).at(1000) },
			"", "",
		},
		"nor for what somebody has taken, until it is worse": {
			nil, writes().delayed(5 * time.Minute), func(w *world) { w.at(0, began(black, 0)).at(130, ann).at(700) },
			"", "600 opened!",
		},
		"or another condition begins": {
			nil, writes().delayed(5 * time.Minute), func(w *world) {
				w.at(0, began(noMedia, 0)).at(290, ann).at(299, ended(noMedia, 299)).at(310, began(silent, 310)).at(350)
			},
			"", "310 opened!",
		},
		"a message is repeated until somebody takes the incident, at most every ten minutes": {
			edits().repeated(15 * time.Minute), writes().repeated(time.Minute), func(w *world) {
				w.at(0, began(noMedia, 0)).at(2000, ann).at(5000, ended(noMedia, 5000)).at(9000)
			},
			"0 opened!, 300 worse!, 1200 repeated!, 2000 acknowledged, 5000 updated, 5060 recovered",
			"3 opened!, 300 worse!, 900 repeated!, 1500 repeated!, 2000 acknowledged, 5060 recovered",
		},
		"what gets worse than somebody knows is told and repeated again, until somebody takes that": {
			edits().repeated(10 * time.Minute), nil, func(w *world) { w.at(0, began(black, 0), ann).at(1300, bob).at(4000) },
			"0 opened!, 0 acknowledged, 120 worse!, 600 worse!, 1200 repeated!, 1300 acknowledged", "",
		},
		"and so is another condition": {
			edits(), writes().repeated(10 * time.Minute), func(w *world) {
				w.at(0, began(noMedia, 0)).at(400, ann).at(500, began(silent, 500)).at(1200, bob).at(4000)
			},
			"0 opened!, 300 worse!, 400 acknowledged, 500 worse!, 1200 acknowledged",
			"3 opened!, 300 worse!, 400 acknowledged, 500 worse!, 1100 repeated!, 1200 acknowledged",
		},

		"nothing is repeated while nothing lasts": {
			nil, writes().repeated(10 * time.Minute), func(w *world) { w.at(0, began(late, 0)).at(599, ended(late, 599)).at(1000) },
			"", "3 opened!, 659 recovered",
		},
		"no owed sound is made then": {
			edits(), nil, func(w *world) {
				w.at(0, began(late, 0)).at(10, ended(late, 10)).at(300, began(late, 300)).at(550, ended(late, 550)).at(1000)
			},
			"0 opened!, 10 updated, 70 recovered, 300 reopened, 550 updated, 670 recovered", "",
		},
		"a first message makes none then": {
			nil, down(writes(), 0, 300), func(w *world) { w.at(0, began(black, 0)).at(290, ended(black, 290)).at(1000) },
			"", "300 opened, 350 recovered",
		},
		"nor does a severity that rose before": {
			nil, down(writes(), 100, 300), func(w *world) { w.at(0, began(black, 0)).at(295, ended(black, 295)).at(1000) },
			"", "3 opened!, 355 recovered",
		},

		"a destination that was down gets one message": {
			down(edits().repeated(10*time.Minute), 0, 3000), nil, func(w *world) { w.at(0, began(black, 0)).at(700, began(silent, 700)).at(4000) },
			"3000 opened!, 3600 repeated!", "",
		},
		"without a sound if somebody has it": {
			down(edits(), 0, 3000), nil, func(w *world) { w.at(0, began(black, 0)).at(700, ann).at(4000) },
			"3000 opened", "",
		},
		"and only the end if it knows the beginning": {
			down(edits(), 1, 3000), nil, func(w *world) { w.at(0, began(black, 0)).at(700, ann).at(900, ended(black, 900)).at(4000) },
			"0 opened!, 3000 recovered", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all []*destined
			for _, d := range []*destined{c.edits, c.writes} {
				if d != nil {
					all = append(all, d)
				}
			}
			w := newWorld(t, all...)
			c.happens(w)
			w.expect(map[string]string{"edits": c.toEdits, "writes": c.toWrites})
		})
	}
}
