package incident_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

func TestNoConditionGetsWorseWhileTheStreamIsBlind(t *testing.T) { // S6, 16.1
	h := newHistory(t)
	h.step(30, began(black, 0))
	h.sweep(440)
	h.step(440, began(incident.Blind, 110)) // it was told 5 minutes later: by then the black had risen at 120 s
	h.sweep(740)
	h.step(740, ended(incident.Blind, 740))
	h.sweep(2000)
	want := []rise{{120, 2}, {740 + 490, 3}} // 110 s before it, 490 s after it
	if !slices.Equal(h.rises, want) {
		t.Errorf("the severity rose at %v, want %v", h.rises, want)
	}
	if c, severity, lasts := h.newest().Conditions.Worst(at(1229)); c != black || severity != 2 || !lasts {
		t.Errorf("the worst that lasts is %s of severity %d", c, severity)
	}
	t.Run("nor in a later blindness", func(t *testing.T) {
		h := newHistory(t)
		h.step(30, began(black, 0))
		h.step(60, began(incident.Blind, 30))
		h.step(90, ended(incident.Blind, 90))
		h.step(120, began(incident.Blind, 100))
		h.sweep(500)
		h.step(500, ended(incident.Blind, 500))
		h.sweep(700)
		if want := []rise{{580, 2}}; !slices.Equal(h.rises, want) { // 40 s before it, 80 s after it
			t.Errorf("the severity rose at %v, want %v", h.rises, want)
		}
	})
}
