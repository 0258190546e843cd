package notify_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Each test is a timeline: what happens to the stream, and what destinations are told.

func TestAnIncidentIsOneMessageThatIsEdited(t *testing.T) {
	w := newWorld(t, edits(), writes().awaits(3*time.Second))
	w.at(0, began(black, 0))
	w.at(2, incident.PictureAdded{Picture: incident.Picture{EvidenceID: "a"}})
	w.at(60, ended(black, 60))
	w.at(1000)
	w.expect(map[string]string{
		"edits":  "0 opened!, 2 updated, 60 updated, 120 recovered",
		"writes": "2 opened!, 120 recovered",
	})
}

func TestAnotherConditionAndEveryRiseOfTheSeverityAreWorse(t *testing.T) {
	w := newWorld(t, edits(), writes())
	w.at(0, began(black, 0)) // severity 1, 2 from 120 s on, 3 from 600 s on
	w.at(700, began(incident.NoMedia, 700))
	w.at(710, ended(incident.NoMedia, 710))
	w.at(720, began(incident.NoMedia, 720)) // it comes back: no other one
	w.at(800)
	w.expect(map[string]string{
		"edits":  "0 opened!, 120 worse!, 600 worse!, 700 worse!, 710 updated, 720 updated",
		"writes": "0 opened!, 120 worse!, 600 worse!, 700 worse!",
	})
}

func TestAfterAReopeningWorseIsWorseThanWhatWasHeardSince(t *testing.T) { // section 19.3
	w := newWorld(t, edits(), writes())
	w.at(0, began(black, 0)).at(200, ended(black, 200)) // severity 2 from 120 s on; resolved at 260 s
	w.at(800, began(black, 800))                        // reopened with severity 1, 2 from 920 s on
	w.at(1000)
	w.expect(map[string]string{
		"edits":  "0 opened!, 120 worse!, 200 updated, 260 recovered, 800 reopened!, 920 worse!",
		"writes": "0 opened!, 120 worse!, 260 recovered, 800 reopened!, 920 worse!",
	})
	var said []int
	for _, m := range w.all[1].sent {
		said = append(said, m.about.SeverityNow)
	}
	if want := []int{1, 2, 0, 1, 2}; !slices.Equal(said, want) {
		t.Errorf("the messages say the severities %v, want %v", said, want)
	}

	w = newWorld(t, edits(), writes())
	w.at(0, began(black, 0)).at(200, ended(black, 200))
	w.at(500, began(black, 500)) // its sound is owed until 720 s, when it is as severe as before
	w.at(1000)
	w.expect(map[string]string{
		"edits":  "0 opened!, 120 worse!, 200 updated, 260 recovered, 500 reopened, 720 reopened!",
		"writes": "0 opened!, 120 worse!, 260 recovered, 720 reopened!",
	})

	w = newWorld(t, writes())
	w.at(0, began(black, 0)).at(200, ended(black, 200))
	w.at(800, began(black, 800), incident.Acknowledge{By: "ann"}).at(1000) // she knows how severe it was before
	w.expect(map[string]string{"writes": "0 opened!, 120 worse!, 260 recovered, 800 reopened!, 800 acknowledged, 920 worse"})
}

func TestASilenceOverTheOpeningIsToldWhenItEnds(t *testing.T) {
	w := newWorld(t, edits())
	w.silence(notify.Silence{StartsAt: at(0), EndsAt: at(300)})
	w.at(10, began(black, 10))
	w.at(1000)
	w.expect(map[string]string{"edits": "300 opened!, 610 worse!"})

	w = newWorld(t, edits())
	w.silence(notify.Silence{StartsAt: at(0), EndsAt: at(300)})
	w.at(10, began(black, 10)).at(100, ended(black, 100))
	w.at(1000)
	w.expect(map[string]string{"edits": ""})
}

func TestASilenceNeverHoldsAnEndBack(t *testing.T) {
	for name, s := range map[string]notify.Silence{
		"with an end": {StartsAt: at(20), EndsAt: at(5000)},
		"without one": {StartsAt: at(20), UntilRecovered: true},
	} {
		w := newWorld(t, edits(), writes().repeated(10*time.Minute))
		w.at(10, began(black, 10))
		w.at(20).silence(s)
		w.at(30, incident.Acknowledge{By: "ann"}) // held back, as what gets worse at 130 s
		w.at(800, ended(black, 800))
		w.at(4000)
		w.expect(map[string]string{"edits": "10 opened!, 860 recovered", "writes": "10 opened!, 860 recovered"})
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestADelayedRouteIsForWhatNobodyHasTaken(t *testing.T) {
	escalation := func() *destined { return writes().delayed(5 * time.Minute) }

	w := newWorld(t, escalation())
	w.at(0, began(black, 0)).at(310, ended(black, 310)).at(1000)
	w.expect(map[string]string{"writes": "300 opened!, 370 recovered"})

	w = newWorld(t, escalation())
	w.at(0, began(black, 0)).at(250, ended(black, 250)).at(1000) // nothing lasts at 300 s
	w.expect(map[string]string{"writes": ""})

	w = newWorld(t, escalation())
	w.at(0, began(black, 0)).at(200, ended(black, 200)).at(1000) // over at 260 s
	w.expect(map[string]string{"writes": ""})

	w = newWorld(t, escalation())
	w.at(0, began(black, 0)).at(130, incident.Acknowledge{By: "ann"})
	w.at(599)
	w.expect(map[string]string{"writes": ""})
	w.at(700) // at 600 s it gets worse
	w.expect(map[string]string{"writes": "600 opened!"})

	w = newWorld(t, escalation())
	w.at(0, began(black, 0)).at(310, incident.Acknowledge{By: "ann"}).at(400, ended(black, 400)).at(1000)
	w.expect(map[string]string{"writes": "300 opened!, 310 acknowledged, 460 recovered"})
}

func TestAMessageIsRepeatedUntilSomebodyTakesTheIncident(t *testing.T) {
	w := newWorld(t, edits().repeated(15*time.Minute), writes().repeated(time.Minute))
	w.at(0, began(incident.NoMedia, 0)) // severity 2, 3 from 300 s on
	w.at(2000, incident.Acknowledge{By: "ann"})
	w.at(5000, ended(incident.NoMedia, 5000))
	w.at(9000)
	w.expect(map[string]string{
		"edits":  "0 opened!, 300 worse!, 1200 repeated!, 2000 acknowledged, 5000 updated, 5060 recovered",
		"writes": "0 opened!, 300 worse!, 900 repeated!, 1500 repeated!, 2000 acknowledged, 5060 recovered", // no more often than in 10 min
	})
}

func TestAnAcknowledgedIncidentThatGetsWorseIsToldAndRepeatedAgain(t *testing.T) {
	w := newWorld(t, writes().repeated(10*time.Minute))
	w.at(0, began(black, 0), incident.Acknowledge{By: "ann"})
	w.at(2000)
	// At 120 s it is worse than ann knows, and nobody takes that.
	w.expect(map[string]string{"writes": "0 opened!, 0 acknowledged, 120 worse!, 600 worse!, 1200 repeated!, 1800 repeated!"})
}

func TestWhoeverAcknowledgesWhatGotWorseEndsItsRepetition(t *testing.T) {
	w := newWorld(t, writes().repeated(10*time.Minute))
	w.at(0, began(black, 0), incident.Acknowledge{By: "ann"}).at(700, incident.Acknowledge{By: "bob"}).at(4000)
	w.expect(map[string]string{"writes": "0 opened!, 0 acknowledged, 120 worse!, 600 worse!, 700 acknowledged"})
}

func TestAnotherConditionIsHeardThoughTheIncidentIsTaken(t *testing.T) {
	w := newWorld(t, edits(), writes())
	w.at(0, began(incident.NoMedia, 0)).at(400, incident.Acknowledge{By: "ann"})
	w.at(500, began(black, 500)) // the severity stays 3
	w.at(550)
	w.expect(map[string]string{
		"edits":  "0 opened!, 300 worse!, 400 acknowledged, 500 worse!",
		"writes": "0 opened!, 300 worse!, 400 acknowledged, 500 worse!",
	})
}

func TestAnotherConditionIsEscalatedAndRepeatedThoughTheIncidentWasTaken(t *testing.T) {
	w := newWorld(t, writes().delayed(5*time.Minute))
	w.at(0, began(incident.NoMedia, 0)).at(290, incident.Acknowledge{By: "ann"}) // severity 3 from 300 s on
	w.at(299, ended(incident.NoMedia, 299)).at(310, began(silent, 310)).at(350)
	w.expect(map[string]string{"writes": "310 opened!"})

	w = newWorld(t, writes().repeated(10*time.Minute))
	w.at(0, began(incident.NoMedia, 0)).at(400, incident.Acknowledge{By: "ann"})
	w.at(500, began(silent, 500)).at(1200, incident.Acknowledge{By: "bob"}).at(4000)
	w.expect(map[string]string{"writes": "0 opened!, 300 worse!, 400 acknowledged, 500 worse!, 1100 repeated!, 1200 acknowledged"})
}

func TestFlappingMakesOneSoundInTenMinutes(t *testing.T) {
	w := newWorld(t, edits(), writes())
	w.at(0, began(black, 0)).at(10, ended(black, 10))       // resolved at 70 s
	w.at(200, began(black, 200)).at(210, ended(black, 210)) // reopened, and resolved at 330 s
	w.at(400, began(black, 400))                            // reopened, and open at 600 s
	w.at(519)
	w.expect(map[string]string{
		"edits":  "0 opened!, 10 updated, 70 recovered, 200 reopened, 210 updated, 330 recovered, 400 reopened",
		"writes": "0 opened!, 70 recovered",
	})
	w.at(610, ended(black, 610)).at(3000)
	w.expect(map[string]string{
		"edits":  "0 opened!, 10 updated, 70 recovered, 200 reopened, 210 updated, 330 recovered, 400 reopened, 520 reopened!, 610 updated, 850 recovered",
		"writes": "0 opened!, 70 recovered, 520 reopened!, 850 recovered", // at 520 s the severity rises
	})
}

func TestNothingMakesASoundWhileNothingLasts(t *testing.T) {
	for name, of := range map[string]struct {
		d    func() *destined
		what func(w *world)
		want string
	}{
		"a repetition": {
			func() *destined { return writes().repeated(10 * time.Minute) },
			func(w *world) { w.at(0, began(incident.Late, 0)).at(599, ended(incident.Late, 599)).at(1000) },
			"0 opened!, 659 recovered",
		},
		"a sound that is owed": {
			edits,
			func(w *world) {
				w.at(0, began(incident.Late, 0)).at(10, ended(incident.Late, 10)) // resolved at 70 s
				w.at(300, began(incident.Late, 300)).at(550, ended(incident.Late, 550)).at(1000)
			},
			"0 opened!, 10 updated, 70 recovered, 300 reopened, 550 updated, 670 recovered",
		},
		"a first message": {
			func() *destined {
				d := writes()
				d.down = func(now time.Time) bool { return now.Before(at(300)) }
				return d
			},
			func(w *world) { w.at(0, began(black, 0)).at(290, ended(black, 290)).at(1000) },
			"300 opened, 350 recovered",
		},
		"a severity that rose before": {
			func() *destined {
				d := writes()
				d.down = func(now time.Time) bool { return now.After(at(100)) && now.Before(at(300)) }
				return d
			},
			func(w *world) { w.at(0, began(black, 0)).at(295, ended(black, 295)).at(1000) },
			"0 opened!, 355 recovered",
		},
	} {
		w := newWorld(t, of.d())
		of.what(w)
		w.expect(map[string]string{w.all[0].name: of.want})
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestBlindnessIsToldAfterOthersCouldJoinIt(t *testing.T) {
	w := newWorld(t, edits(), writes())
	w.at(0, began(incident.Blind, 0)).at(29, ended(incident.Blind, 29)).at(80)
	w.expect(map[string]string{"edits": "", "writes": ""})
	w.at(200, began(incident.Blind, 200)).at(400, ended(incident.Blind, 400)).at(1000)
	w.expect(map[string]string{"edits": "230 opened!, 400 updated, 520 recovered", "writes": "230 opened!, 520 recovered"})
}

func TestWhatIsOpenWhenTheLimitHasPassedIsHeard(t *testing.T) {
	late := incident.Late // severity 0 for 10 min
	w := newWorld(t, edits(), writes())
	w.at(0, began(late, 0)).at(10, ended(late, 10)) // resolved at 70 s
	w.at(300, began(late, 300)).at(800)
	w.expect(map[string]string{
		"edits":  "0 opened!, 10 updated, 70 recovered, 300 reopened, 600 reopened!",
		"writes": "0 opened!, 70 recovered, 600 reopened!",
	})

	w = newWorld(t, edits(), writes())
	w.at(0, began(late, 0)).at(10, ended(late, 10))
	w.at(300, began(late, 300)).at(400, incident.Acknowledge{By: "ann"}).at(800)
	w.expect(map[string]string{ // somebody has taken it: no sound is owed any more
		"edits":  "0 opened!, 10 updated, 70 recovered, 300 reopened, 400 acknowledged",
		"writes": "0 opened!, 70 recovered, 400 reopened",
	})

	w = newWorld(t, edits(), writes())
	w.at(0, began(late, 0)).at(10, ended(late, 10))
	w.at(300, began(black, 300)).at(310) // another condition has made no sound yet
	w.expect(map[string]string{
		"edits":  "0 opened!, 10 updated, 70 recovered, 300 reopened!",
		"writes": "0 opened!, 70 recovered, 300 reopened!",
	})
}

func TestADestinationThatWasDownGetsOneMessage(t *testing.T) {
	d := writes().repeated(10 * time.Minute)
	d.down = func(now time.Time) bool { return now.Before(at(3000)) }
	w := newWorld(t, d)
	w.at(0, began(black, 0)).at(700, began(silent, 700)).at(4000)
	w.expect(map[string]string{"writes": "3000 opened!, 3600 repeated!"})

	d = writes()
	d.down = func(now time.Time) bool { return now.After(at(1)) && now.Before(at(3000)) }
	w = newWorld(t, d)
	w.at(0, began(black, 0)).at(700, incident.Acknowledge{By: "ann"}).at(900, ended(black, 900)).at(4000)
	w.expect(map[string]string{"writes": "0 opened!, 3000 recovered"})

	d = writes()
	d.down = func(now time.Time) bool { return now.Before(at(3000)) }
	w = newWorld(t, d)
	w.at(0, began(black, 0)).at(700, incident.Acknowledge{By: "ann"}).at(4000)
	w.expect(map[string]string{"writes": "3000 opened"}) // ann has it: nobody has to wake up
}

func TestAStormIsUpdatedInPlace(t *testing.T) {
	s := notify.Situation{Open: true, Severity: 3, SeverityNow: 3, Conditions: []incident.Name{black}, OpenedAt: at(0), Streams: 12}
	step := notify.Next(at(0), s, notify.Notified{}, notify.ThreadPolicy{Edits: true})
	told := notify.Notified{}.After(s, step, at(0), "ref")
	s.Streams = 37
	if got := notify.Next(at(5), s, told, notify.ThreadPolicy{Edits: true}); got != (notify.NextMessage{Kind: notify.Updated}) {
		t.Errorf("a channel that edits: %+v", got)
	}
	if got := notify.Next(at(5), s, told, notify.ThreadPolicy{}); got != (notify.NextMessage{}) {
		t.Errorf("one that does not: %+v", got)
	}
}

func TestAConditionThatComesBackAfterAReopeningIsHeardIfItLasts(t *testing.T) {
	quiet := func() *world { // black was heard at 0 s, late at 100 s
		w := newWorld(t, edits(), writes())
		return w.at(0, began(black, 0)).at(5, ended(black, 5)).at(100, began(incident.Late, 100))
	}
	quiet().at(200, began(black, 200)).at(210, ended(black, 210)).at(900).expect(map[string]string{
		"edits":  "0 opened!, 5 updated, 65 recovered, 100 reopened!, 200 updated, 210 updated",
		"writes": "0 opened!, 65 recovered, 100 reopened!",
	})
	quiet().at(550, began(black, 550)).at(620).expect(map[string]string{
		"edits":  "0 opened!, 5 updated, 65 recovered, 100 reopened!, 550 updated, 600 worse!",
		"writes": "0 opened!, 65 recovered, 100 reopened!, 600 worse!",
	})
}
